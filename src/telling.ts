/** What observers are told of the runs and their calls. */
import type { SupervisedCall } from './call.ts';
import type { RefusalCode } from './decide.ts';
import type { CallStarted, PhaseEntered, PhasegateEvent, RunStarted } from './events.ts';
import type { Phase } from './phases.ts';
import type { Refusal } from './refusal.ts';
import type { Rules } from './rules.ts';
import type { SavedRun } from './saved-run.ts';
import type { SupervisedRun } from './supervised-run.ts';
import { DEFAULT_TABLE } from './table.ts';

/** A run began, or goes on from where it was saved. */
export function tellOfBegin(
  run: SupervisedRun,
  rules: Rules,
  budget: 'shared' | 'own',
  saved: SavedRun | undefined,
): void {
  const { host, parent, parentCall } = run;
  host.events.emit({
    type: 'run.started',
    time: Date.now(),
    run: run.id,
    parent: parent?.id ?? null,
    call: parentCall?.id ?? null,
    budget,
    ...limitsOf(rules),
    dfa: host.dfa,
    resumed: saved === undefined ? null : { state: saved.state, calls: saved.calls },
  });
}

/** A run moved. */
export function tellOfPhase(run: SupervisedRun, time: number, from: Phase, phase: Phase): void {
  run.host.events.emit(phaseEntered(run, time, from, phase));
}

/** A proposal was answered: `code` is why it was refused. */
export function tellOfProposal(run: SupervisedRun, target: Phase, code: RefusalCode | null): void {
  const time = Date.now();
  run.host.events.emit({
    type: 'phase.proposed',
    time,
    run: run.id,
    target,
    allowed: code === null,
    code,
  });
}

/** A call has to wait its turn. */
export function tellOfWaiting({ run, id, seq, tool }: SupervisedCall): void {
  run.host.events.emit({ type: 'call.waiting', time: Date.now(), run: run.id, call: id, seq, tool });
}

/** A call is reserved, and checks are about to run on it. */
export function tellOfReservation({ run, id, seq, tool, parent }: SupervisedCall): void {
  const { events } = run.host;
  if (!events.observed) return;
  const time = Date.now();
  events.emit({ type: 'call.reserved', time, run: run.id, call: id, seq, tool, parent: parent?.id ?? null });
}

/**
 * Asks those on whom calls depend whether a call may start.
 *
 * @returns Why it may not.
 */
export function askOfStart(
  call: SupervisedCall,
  path: readonly Phase[],
  loopCount: number,
): string | undefined {
  const { run } = call;
  const time = Date.now();
  const hops = path.slice(1).map((phase, hop) => phaseEntered(run, time, path[hop] as Phase, phase));
  const events: PhasegateEvent[] = [...hops, callStarted(call, time, loopCount)];
  return run.host.events.ask(events);
}

/** A call was admitted. @returns Whether all was told: nothing starts any more once an observer has ended the run. */
export function tellOfStart(call: SupervisedCall, path: readonly Phase[]): boolean {
  const { run } = call;
  const { events } = run.host;
  const time = call.time ?? Date.now();
  for (let hop = 1; hop < path.length; hop++) {
    events.emit(phaseEntered(run, time, path[hop - 1] as Phase, path[hop] as Phase), true);
    if (!run.live) return false;
  }
  events.emit(callStarted(call, time, call.loopCount), true);
  return true;
}

/** A call was refused. */
export function tellOfRefusal(call: SupervisedCall, { code, message, stage }: Refusal): void {
  const { run } = call;
  if (!run.host.events.observed) return;
  run.host.events.emit({
    type: 'call.refused',
    time: Date.now(),
    run: run.id,
    call: call.id,
    seq: call.seq,
    tool: call.tool,
    parent: call.parent?.id ?? null,
    args: call.args,
    code,
    message,
    stage,
    phase: run.phase,
    stepCount: run.stepCount,
    loopCount: run.loopCount,
    ...timesOf(call),
  });
}

/** A call ended; `outcome` is what it came to, or why it failed. */
export function tellOfCallEnd(
  call: SupervisedCall,
  time: number,
  ok: boolean,
  late: boolean,
  interrupted: boolean,
  outcome: unknown,
): void {
  const { run } = call;
  const { events } = run.host;
  events.emit({
    type: 'call.ended',
    time,
    run: run.id,
    call: call.id,
    seq: call.seq,
    tool: call.tool,
    ok,
    late,
    interrupted,
    error: ok ? undefined : outcome,
    ...(ok && !interrupted && events.results ? { result: outcome } : undefined),
    stepCount: run.stepCount,
  });
}

/** A run ended. */
export function tellOfRunEnd(run: SupervisedRun, time: number, reason: string | null): void {
  const { phase, stepCount } = run;
  run.host.events.emit({ type: 'run.ended', time, run: run.id, phase, reason, stepCount });
}

function phaseEntered(run: SupervisedRun, time: number, from: Phase, phase: Phase): PhaseEntered {
  return { type: 'phase.entered', time, run: run.id, from, phase };
}

function callStarted(call: SupervisedCall, time: number, loopCount: number): CallStarted {
  const { run } = call;
  return {
    type: 'call.started',
    time,
    run: run.id,
    call: call.id,
    seq: call.seq,
    tool: call.tool,
    parent: call.parent?.id ?? null,
    args: call.args,
    stepCount: run.stepCount,
    loopCount,
    ...timesOf(call),
  };
}

function timesOf({ times }: SupervisedCall): Pick<CallStarted, 'waitedMs' | 'decisionMs'> {
  if (times === undefined) return { waitedMs: null, decisionMs: null };
  const now = performance.now();
  const turn = times.turn ?? now;
  return { waitedMs: turn - times.asked, decisionMs: now - turn };
}

type Limits = Pick<RunStarted, 'maxSteps' | 'maxLoopsPerPhase' | 'transitions'>;

// The same for all runs between two edits of the table.
const limits = new WeakMap<Rules, Limits>();

function limitsOf(rules: Rules): Limits {
  const known = limits.get(rules);
  if (known !== undefined) return known;
  const { maxSteps, maxLoopsPerPhase, table } = rules;
  const made: Limits = {
    maxSteps: finite(maxSteps),
    maxLoopsPerPhase: finite(maxLoopsPerPhase),
    transitions: isDefault(rules)
      ? null
      : Object.freeze(Object.fromEntries(table.phases.map((phase) => [phase, table.targetsOf(phase)]))),
  };
  limits.set(rules, made);
  return made;
}

function finite(limit: number): number | null {
  return Number.isFinite(limit) ? limit : null;
}

function isDefault({ table }: Rules): boolean {
  return (
    String(table.phases) === String(DEFAULT_TABLE.phases) &&
    String(table.transitions) === String(DEFAULT_TABLE.transitions)
  );
}

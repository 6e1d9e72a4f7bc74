/**
 * The decision, pure: may a run move, may it call a tool, and if not, why. The machine's guards, the supervisor
 * and the runs all ask here, so that they cannot come to differ.
 */
import { describe } from './describe.ts';
import { isTerminal, type Phase } from './phases.ts';
import type { Table } from './table.ts';

/** Why a proposal or a call was refused (SPEC §3.3); the last, that a run and its XState actor differ. */
export type RefusalCode =
  | 'step-budget'
  | 'loop-budget'
  | 'terminal-phase'
  | 'illegal-transition'
  | 'action-unreachable'
  | 'unknown-phase'
  | 'call-in-flight'
  | 'run-completed'
  | 'no-active-run'
  | 'check-refused'
  | 'check-failed'
  | 'wait-timeout'
  | 'depth-exceeded'
  | 'observer-failed'
  | 'actor-disagrees';

/** The two budgets of a run: whole numbers of 0 or more, or `Infinity` for no limit (SPEC §2). */
export interface Budgets {
  /** How many calls of a run may end well. */
  readonly maxSteps: number;
  /** How many self-loops a phase may have before it is left for another. */
  readonly maxLoopsPerPhase: number;
}

/** Whether a value is a whole number of 0 or more, or `Infinity` for no limit (SPEC §2.3). */
export function isCount(value: unknown): value is number {
  return value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 0);
}

/** What a decision looks at: where the run is, and what is spent or promised. */
export interface Position {
  readonly phase: Phase;
  /** Calls that ended well. */
  readonly stepCount: number;
  /** Calls of the run that are reserved or in flight. */
  readonly pending: number;
  /** Calls of its child runs that are reserved or in flight, and share its step budget (SPEC §10.2). */
  readonly childPending: number;
  /** Self-loops on the present phase. */
  readonly loopCount: number;
  /** Self-loops on ACTING that are reserved. */
  readonly pendingLoops: number;
}

// Both ask whether there is provably room: a counter that is no number leaves none.

/** Whether the step budget has room for one more call (SPEC §2.1). */
export function withinStepBudget(budgets: Budgets, stepCount: number, pending: number): boolean {
  return stepCount + pending < budgets.maxSteps;
}

/** Whether the loop budget has room for one more self-loop (SPEC §2.2). */
export function withinLoopBudget(budgets: Budgets, loopCount: number, pending: number): boolean {
  return loopCount + pending < budgets.maxLoopsPerPhase;
}

function hasStep(budgets: Budgets, at: Position): boolean {
  return withinStepBudget(budgets, at.stepCount, at.pending + at.childPending);
}

function hasLoop(budgets: Budgets, at: Position): boolean {
  return withinLoopBudget(budgets, at.loopCount, at.pendingLoops);
}

/**
 * Why the run may not move to `target`, or `undefined` when it may. The checks come in the order of SPEC §3.1 and
 * §3.2; the first that fails is the reason.
 */
export function refuseProposal(
  table: Table,
  budgets: Budgets,
  at: Position,
  target: Phase,
): RefusalCode | undefined {
  if (!table.has(target) || !table.has(at.phase)) return 'unknown-phase';
  if (at.pending !== 0) return 'call-in-flight';
  if (!hasStep(budgets, at)) return 'step-budget';
  if (isTerminal(at.phase)) return 'terminal-phase';
  if (target === at.phase && !hasLoop(budgets, at)) return 'loop-budget';
  if (!table.isLegal(at.phase, target)) return 'illegal-transition';
  return undefined;
}

/**
 * Why no tool may be called now, or `undefined` when one may, along `table.pathToActing(at.phase)`. Order of the
 * checks: step budget, terminal phase, loop budget, path (SPEC §4.3).
 *
 * @param joins Whether the call joins a visit to ACTING that other calls are on: then it is no self-loop (SPEC §5.6).
 */
export function refuseAction(
  table: Table,
  budgets: Budgets,
  at: Position,
  joins = false,
): RefusalCode | undefined {
  if (!hasStep(budgets, at)) return 'step-budget';
  if (isTerminal(at.phase)) return 'terminal-phase';
  if (at.phase !== 'ACTING') {
    return table.pathToActing(at.phase) === undefined ? 'action-unreachable' : undefined;
  }
  return joins || hasLoop(budgets, at) ? undefined : 'loop-budget';
}

/** The message of a refusal that a decision of this file made (SPEC §3.3). */
export function refusalMessage(
  code: RefusalCode,
  table: Table,
  budgets: Budgets,
  at: Position,
  target: Phase = 'ACTING',
): string {
  switch (code) {
    case 'step-budget':
      return stepBudgetMessage(budgets, at);
    case 'loop-budget': {
      const reserved = at.pendingLoops === 0 ? '' : ` (${at.pendingLoops} reserved)`;
      return `Loop budget exhausted in ${at.phase}: ${at.loopCount}/${budgets.maxLoopsPerPhase}${reserved}`;
    }
    case 'terminal-phase':
      return `Phase ${at.phase} is terminal`;
    case 'illegal-transition': {
      const legal = table.targetsOf(at.phase).join(', ') || 'none';
      return `Illegal transition: ${at.phase} -> ${target} (legal from ${at.phase}: ${legal})`;
    }
    case 'action-unreachable':
      return `ACTING cannot be reached from ${at.phase}`;
    case 'unknown-phase':
      return `Unknown phase: ${describe(table.has(target) ? at.phase : target)}`;
    case 'call-in-flight':
      return `Cannot move from ${at.phase}: ${inFlight(at.pending)}`;
    default:
      throw new TypeError(`No decision refuses with ${code}`);
  }
}

/** The message of a refusal for the step budget; `whose` is said where it is not the run's own (SPEC §10.2). */
export function stepBudgetMessage(budgets: Budgets, at: Position, whose = ''): string {
  const pending = at.pending + at.childPending;
  const flying = pending === 0 ? '' : ` (${inFlight(pending)})`;
  return `Step budget exhausted: ${at.stepCount}/${budgets.maxSteps}${whose}${flying}`;
}

function inFlight(calls: number): string {
  return `${calls} ${calls === 1 ? 'call' : 'calls'} in flight`;
}

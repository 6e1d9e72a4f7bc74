import type { SupervisedCall } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';
import { findToolExecutionBlocked, type ToolExecutionBlocked } from '../errors.ts';
import { isTerminal } from '../phases.ts';
import { Refusal } from '../refusal.ts';
import type { SavedRun } from '../saved-run.ts';
import type { SupervisedRun } from '../supervised-run.ts';
import type { Supervisor } from '../supervisor.ts';
import type { Action } from './actions.ts';
import type { TraceEvent } from './format.ts';
import type { CallNode, RunNode } from './nodes.ts';
import { Recording } from './recording.ts';
import type { FileFault, RunReport } from './report.ts';

/** How the runs of a file are replayed. */
export interface DriverOptions {
  /** Without a limit to waiting. */
  readonly enforcement: Enforcement;
  /** The enforcement's: whether a top-level call waits until the calls before it have ended (SPEC §5.6). */
  readonly parallel: 'serialize' | 'concurrent';
  /** Whether a run goes on after a refusal, as if the refused call had not been made. */
  readonly all: boolean;
  readonly file: string;
  readonly onFault: (fault: FileFault) => void;
}

// More than this never waits at once in a real recording: what they wait for has lost its end.
const HELD_LIMIT = 10_000;

/**
 * Drives an enforcement with what a file has recorded.
 *
 * Under `serialize` a call may have to wait for its turn, which in the recording it had not: then all that happens inside
 * of it waits with it, and is done, in the recorded order, as soon as it is admitted.
 */
export class Driver {
  readonly #options: DriverOptions;
  readonly #recording: Recording;
  #reports: RunReport[] = [];
  // What is to be done, the next at the top: so no chain of calls that wait for each other makes a deep recursion.
  readonly #todo: Action[] = [];

  constructor(options: DriverOptions) {
    const { file, onFault } = options;
    this.#options = options;
    this.#recording = new Recording(
      (message, line) => onFault({ file, line: line ?? null, message }),
      (run) => this.#reports.push(this.#report(run)),
    );
  }

  /** How many outermost runs there are so far. */
  get runs(): number {
    return this.#recording.roots;
  }

  /** Takes the next events. */
  async push(events: readonly TraceEvent[]): Promise<void> {
    for (const event of events) {
      const action = this.#recording.action(event);
      if (action === undefined) continue;
      this.#todo.push(action);
      const answer = this.#work();
      if (answer !== undefined) await answer;
    }
  }

  /** Takes the end of the file. */
  async end(): Promise<void> {
    this.#next(this.#recording.end());
    await this.#work();
    this.#recording.close();
  }

  /** The reports of runs that nothing more can come of, since it was last asked. */
  take(): readonly RunReport[] {
    if (this.#reports.length === 0) return NONE;
    const reports = this.#reports;
    this.#reports = [];
    return reports;
  }

  // A monitor check may be asynchronous: then the rest is done when it has answered.
  #work(): Promise<void> | undefined {
    for (let action = this.#todo.pop(); action !== undefined; action = this.#todo.pop()) {
      const answer = this.#perform(action);
      if (answer !== undefined) return answer.then(() => this.#work());
    }
    return undefined;
  }

  #next(actions: readonly Action[]): void {
    for (let i = actions.length - 1; i >= 0; i--) this.#todo.push(actions[i] as Action);
  }

  #perform(action: Action): Promise<void> | undefined {
    const { run } = action;
    if (run.root.stopped) return undefined;
    const gate = gateOf(action);
    if (gate === 'never') return undefined;
    if (gate !== 'open') {
      this.#hold(gate, action);
      return undefined;
    }
    if (run.run === undefined) this.#begin(run);
    switch (action.do) {
      case 'begin':
        return undefined;
      case 'start':
        return this.#start(action.call);
      case 'end':
        this.#end(action.call, action.ok);
        return undefined;
      case 'propose':
        this.#propose(run, action.target);
        return undefined;
      case 'finish':
        this.#finish(run, action);
        return undefined;
    }
  }

  #begin(run: RunNode): void {
    const { enforcement } = this.#options;
    try {
      const begun =
        run.resumed === undefined
          ? enforcement.beginRun({ id: run.key, parent: run.parentCall?.call ?? null })
          : enforcement.resumeRun(savedAs(run.key, run.resumed, enforcement.supervisor));
      // What `createEnforcement` makes begins no other runs; a call of these is its own entry in the log.
      run.run = begun as SupervisedRun;
    } catch (error) {
      const blocked = findToolExecutionBlocked(error);
      if (blocked === undefined || run.parentCall === undefined) throw error;
      run.refused = true;
      this.#countRefusal(run.parentCall, blocked, run.parentCall.run);
    }
  }

  #propose(run: RunNode, target: string): void {
    const decision = begun(run).propose(target);
    if (decision.allowed) run.path.add(decision.path);
  }

  #start(node: CallNode): Promise<void> | undefined {
    const { run, event } = node;
    const maker = node.outer?.status === 'in-flight' ? node.outer.call : undefined;
    const busy = run.inFlight.size > 0 || run.waiting.length > 0;
    if (this.#options.parallel === 'serialize' && maker === undefined && busy && node.status === 'recorded') {
      node.status = 'waiting';
      run.waiting.push(node);
      this.#countHeld(run);
      return undefined;
    }
    const answer = begun(run).admit(event.tool, event.args, {
      callId: event.callId ?? undefined,
      parent: maker ?? null,
    });
    if (answer instanceof Promise) {
      return answer.then(
        (call) => this.#admitted(node, call),
        (error) => this.#refusedWith(node, error),
      );
    }
    if (answer instanceof Refusal) this.#refused(node, answer);
    else this.#admitted(node, answer);
    return undefined;
  }

  #admitted(node: CallNode, call: SupervisedCall): void {
    const { run } = node;
    const { root } = run;
    node.status = 'in-flight';
    node.call = call;
    run.inFlight.add(node, node);
    root.inFlight += 1;
    const { path, loopCount } = call.toLogEntry();
    run.path.add(path);
    const { figures } = root;
    figures.steps = Math.max(figures.steps, root.steps + root.inFlight);
    figures.loops = Math.max(figures.loops, loopCount);
  }

  #refusedWith(node: CallNode, error: unknown): void {
    const blocked = findToolExecutionBlocked(error);
    if (blocked === undefined) throw error;
    this.#refused(node, blocked);
  }

  #refused(node: CallNode, blocked: Refused): void {
    node.status = 'refused';
    this.#countRefusal(node, blocked, node.run);
    this.#serveWaiting(node.run);
  }

  #countRefusal(node: CallNode, blocked: Refused, run: RunNode): void {
    const { root } = run;
    root.refused += 1;
    if (root.first !== undefined) return;
    if (blocked.phase !== null) run.path.add([blocked.phase]);
    root.first = {
      seq: node.seq,
      tool: node.event.tool,
      callId: node.event.callId ?? null,
      code: blocked.code,
      message: blocked.message,
      line: node.event.line ?? null,
      path: run.path.segments,
    };
    root.stopped = !this.#options.all;
  }

  #end(node: CallNode, ok: boolean): void {
    if (node.status !== 'in-flight' || node.call === undefined) return;
    const { run } = node;
    node.status = 'ended';
    run.inFlight.delete(node);
    run.root.inFlight -= 1;
    if (ok) {
      run.root.steps += 1;
      begun(run).afterCall(node.call);
    } else {
      begun(run).failCall(node.call);
    }
    this.#serveWaiting(run);
  }

  #serveWaiting(run: RunNode): void {
    const call = run.inFlight.size === 0 ? run.waiting.shift() : undefined;
    if (call === undefined) return;
    const { backlog = [] } = call;
    call.backlog = undefined;
    run.root.held -= backlog.length + 1;
    this.#next([{ do: 'start', run, call }, ...backlog]);
  }

  #hold(holder: CallNode, action: Action): void {
    holder.backlog ??= [];
    holder.backlog.push(action);
    this.#countHeld(holder.run);
  }

  // So that a recording without ends, or one that lost an end, needs no more memory than any other.
  #countHeld(run: RunNode): void {
    run.root.held += 1;
    if (run.root.held > HELD_LIMIT)
      this.#next(Array.from(run.inFlight.values(), (call) => withoutResult(run, call)));
  }

  #finish(run: RunNode, action: Action & { do: 'finish' }): void {
    const children = [...run.children].filter(
      (child) => child.run !== undefined && !begun(child).state.finished,
    );
    const open = [...run.calls.values()];
    if (children.length > 0 || open.length > 0) {
      const ends = open.map((call) => withoutResult(run, call));
      const ended = children.map((child): Action => ({ do: 'finish', run: child, reason: undefined }));
      this.#next([...ended, ...ends, action]);
      return;
    }
    if (action.reason === undefined) begun(run).finish();
    else begun(run).abort(action.reason);
  }

  #report({ root, run }: RunNode): RunReport {
    return {
      file: this.#options.file,
      index: root.index,
      run: root.name,
      calls: root.calls,
      failed: root.failed,
      verdict: root.first?.code ?? 'allowed',
      firstRefusal: root.first ?? null,
      refused: root.refused,
      stepCount: run?.state.stepCount ?? 0,
      figures: root.figures,
    };
  }
}

type Refused = Pick<ToolExecutionBlocked, 'code' | 'message' | 'phase'>;

const NONE: readonly RunReport[] = [];

// Nothing is done inside of a run that was not begun: see `gateOf`.
function begun(run: RunNode): SupervisedRun {
  if (run.run === undefined) throw new Error(`The replay of run ${run.key} was not begun`);
  return run.run;
}

/** Where a run goes on, as far as that is possible under other rules than its own. */
function savedAs(
  id: string,
  { phase: recorded, stepCount, loopCount }: NonNullable<RunNode['resumed']>,
  { rules, hash }: Supervisor,
): SavedRun {
  const phase = rules.table.has(recorded) && !isTerminal(recorded) ? recorded : 'IDLE';
  const loops = Math.min(loopCount[phase] ?? 0, rules.maxLoopsPerPhase);
  return {
    version: 1,
    rules: hash,
    id,
    state: {
      phase,
      stepCount: Math.min(stepCount, rules.maxSteps),
      loopCount: loops === 0 ? {} : { [phase]: loops },
      inFlight: 0,
      finished: false,
      reason: null,
    },
    callsAsked: 0,
    calls: [],
    childCalls: 0,
    maxDepth: null,
    parent: null,
  };
}

// A call without a result may have taken effect, so it is charged as a step.
function withoutResult(run: RunNode, call: CallNode): Action {
  run.calls.delete(call.event.call);
  return { do: 'end', run, call, ok: true };
}

/**
 * Whether an action can be done now: `never` inside of what was refused; the outermost call that is to be admitted before;
 * or `open`.
 */
function gateOf(action: Action): CallNode | 'open' | 'never' {
  let gate: CallNode | 'open' = 'open';
  let { run } = action;
  let call = action.do === 'end' ? action.call : action.do === 'start' ? action.call.outer : undefined;
  for (;;) {
    for (; call !== undefined; call = call.outer) {
      if (call.status === 'refused') return 'never';
      if (call.status === 'in-flight' || call.status === 'ended') return gate;
      gate = call;
    }
    if (run.refused) return 'never';
    if (run.parentCall === undefined) return gate;
    call = run.parentCall;
    run = call.run;
  }
}

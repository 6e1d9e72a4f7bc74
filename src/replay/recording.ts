import type { Action } from './actions.ts';
import type { CallBegan, CallDone, RunBegan, RunDone, TraceEvent } from './format.ts';
import { newCall, newRoot, newRun, type RunNode } from './nodes.ts';

// A run that has ended can still be asked for calls, which are then refused (SPEC §5.8), so it is remembered for a while.
const ENDED_MEMORY = 100;

/** Follows the events of one file: which runs and calls there are, and what is to be done about them. */
export class Recording {
  readonly #runs = new Map<string, RunNode>();
  readonly #ended: RunNode[] = [];
  readonly #onFault: (message: string, line?: number) => void;
  readonly #onClosed: (run: RunNode) => void;
  #roots = 0;

  /**
   * @param onFault Is told of an event that makes no sense. The event is passed over.
   * @param onClosed Is told when no more can come of an outermost run.
   */
  constructor(onFault: (message: string, line?: number) => void, onClosed: (run: RunNode) => void) {
    this.#onFault = onFault;
    this.#onClosed = onClosed;
  }

  /** How many outermost runs there are so far. */
  get roots(): number {
    return this.#roots;
  }

  /** What is to be done about an event, if anything. A run begins with what is done first in it. */
  action(event: TraceEvent): Action | undefined {
    switch (event.type) {
      case 'run.started':
        return this.#beginRun(event);
      case 'call.started':
        return this.#beginCall(event);
      case 'call.ended':
        return this.#endCall(event);
      case 'phase.proposed': {
        const run = this.#runOf(event.run);
        return run.root.stopped ? undefined : { do: 'propose', run, target: event.target };
      }
      case 'run.ended':
        return this.#endRun(event);
      case 'fault':
        this.#onFault(event.message, event.line);
        return undefined;
      default:
        this.#onFault(
          `the format told of an event of unknown type ${JSON.stringify((event as { type: unknown }).type)}`,
        );
        return undefined;
    }
  }

  /** The file is over: what all runs that have not ended come to. Call {@link close} when that is done. */
  end(): Action[] {
    const live = [...this.#runs.values()].filter((run) => !run.ended && run.parent === undefined);
    return live.flatMap((run) => this.#endRun({ type: 'run.ended', run: run.key }) ?? []);
  }

  /** Nothing more can come of any run. */
  close(): void {
    for (const run of this.#ended.splice(0)) this.#close(run);
  }

  #beginRun(event: RunBegan): Action | undefined {
    const known = this.#runs.get(event.run);
    if (known !== undefined && !known.ended) {
      this.#onFault(`run ${event.run} begins a second time before it has ended`);
      return undefined;
    }
    if (known !== undefined) {
      this.#ended.splice(this.#ended.indexOf(known), 1);
      this.#close(known);
    }
    const parent = event.parent === undefined ? undefined : this.#runs.get(event.parent.run);
    // A sub-agent may outlive the call that began it, and is a child of that call's run none the less.
    const parentCall = parent?.calls.get(event.parent?.call ?? '') ?? parent?.latestCall;
    const isChild = parent !== undefined && (parentCall !== undefined || parent.root.stopped);
    if (event.parent !== undefined && !isChild) {
      const where = `call ${event.parent.call} of run ${event.parent.run}`;
      this.#onFault(
        `run ${event.run} begins inside of ${where}, which is not open; it is an outermost run here`,
      );
    }
    if (!isChild) return { do: 'begin', run: this.#newOutermost(event.run, event) };
    const { root } = parent;
    const run = newRun(event.run, root, { parent, parentCall });
    root.figures.depth = Math.max(root.figures.depth, run.depth);
    this.#runs.set(event.run, run);
    parent.children.add(run);
    return root.stopped ? undefined : { do: 'begin', run };
  }

  #runOf(key: string): RunNode {
    return this.#runs.get(key) ?? this.#newOutermost(key);
  }

  #newOutermost(key: string, { name = key, resumed }: Partial<RunBegan> = {}): RunNode {
    const run = newRun(key, newRoot(this.#roots++, name, resumed), { resumed });
    this.#runs.set(key, run);
    return run;
  }

  #beginCall(event: CallBegan): Action | undefined {
    if (typeof event.tool !== 'string' || event.tool === '') {
      this.#onFault(`call ${event.call} of run ${event.run} has no name of a tool`, event.line);
      return undefined;
    }
    if (typeof (event.callId ?? '') !== 'string') {
      this.#onFault(`the callId of call ${event.call} of run ${event.run} must be a string`, event.line);
      return undefined;
    }
    const run = this.#runOf(event.run);
    if (run.calls.get(event.call) !== undefined) {
      this.#onFault(
        `call ${event.call} of run ${event.run} begins a second time before it has ended`,
        event.line,
      );
      return undefined;
    }
    const { root } = run;
    root.calls += 1;
    if (root.stopped) return undefined;
    const outer = event.parent === undefined ? undefined : run.calls.get(event.parent);
    const call = newCall(run, event, outer);
    run.calls.add(event.call, call);
    run.latestCall = call;
    if (outer !== undefined) {
      outer.nested += 1;
      root.figures.nested = Math.max(root.figures.nested, outer.nested);
    }
    return { do: 'start', run, call };
  }

  #endCall(event: CallDone): Action | undefined {
    const run = this.#runs.get(event.run);
    if (run === undefined) {
      this.#onFault(`call ${event.call} ends in run ${event.run}, which is not open`);
      return undefined;
    }
    const { figures } = run.root;
    run.failuresInARow = event.ok === false ? run.failuresInARow + 1 : 0;
    figures.failuresInARow = Math.max(figures.failuresInARow, run.failuresInARow);
    if (event.ok === false) run.root.failed += 1;
    // Else it was taken to have no result, and has ended.
    const call = run.calls.get(event.call);
    run.calls.delete(event.call);
    return call === undefined ? undefined : { do: 'end', run, call, ok: event.ok !== false };
  }

  #endRun(event: RunDone): Action | undefined {
    const run = this.#runOf(event.run);
    if (run.ended) return undefined;
    this.#markEnded(run);
    while (this.#ended.length > ENDED_MEMORY) this.#close(this.#ended.shift() as RunNode);
    return run.root.stopped ? undefined : { do: 'finish', run, reason: event.reason };
  }

  // Child runs end with their parent, and before it.
  #markEnded(run: RunNode): void {
    for (const child of run.children) if (!child.ended) this.#markEnded(child);
    run.ended = true;
    this.#ended.push(run);
  }

  #close(run: RunNode): void {
    if (this.#runs.get(run.key) === run) this.#runs.delete(run.key);
    for (const child of run.children) this.#close(child);
    if (run.parent === undefined) this.#onClosed(run);
    else run.parent.children.delete(run);
  }
}

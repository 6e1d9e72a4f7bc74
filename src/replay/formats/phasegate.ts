import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { OpenCalls } from '../open-calls.ts';

/**
 * The package's own recording: what an enforcement tells its listeners, one JSON object a line. Runs may be interleaved,
 * calls may overlap; ids of calls may repeat or be absent.
 *
 * - `run.started`: `run`; for a child run also `parent`, the run, and `call`, the call in whose body it was begun (without
 *   it, the latest that is open).
 * - `call.started`: `run`, `tool`; `call`, `args`; for a nested call `parent`, the call that made it.
 * - `call.refused`: the same. It is replayed as a call that was asked for and has no result.
 * - `call.ended`: `run`, `ok`; `call`, or `tool`, or neither: then it is the oldest call that it can be.
 * - `run.ended`: `run`; `reason`, if it was aborted.
 */
export const phasegate: TraceFormat = {
  name: 'phasegate',
  description: "this package's own recordings (JSON lines)",
  detect(value): Likelihood {
    const record = fieldsOf<'type' | 'run'>(value);
    return TYPES.has(record?.type) && nameOf(record?.run) !== undefined ? 'yes' : 'no';
  },
  async *read(source) {
    const reader = new Recording();
    for await (const items of source.values()) yield readItems(items, (item) => reader.read(item));
  },
};

const TYPES: ReadonlySet<unknown> = new Set([
  'run.started',
  'run.ended',
  'call.waiting',
  'call.started',
  'call.refused',
  'call.ended',
  'phase.entered',
  'phase.proposed',
]);

type Line = Fields<
  'type' | 'run' | 'call' | 'tool' | 'args' | 'parent' | 'ok' | 'late' | 'reason' | 'target'
>;

// Runs that have ended are remembered for a while: calls that they left behind end, or are asked for, after them.
const ENDED_MEMORY = 50;

class Recording {
  // By the id of the run; the names of their open calls.
  readonly #live = new Map<string, OpenCalls>();
  readonly #ended = new Map<string, OpenCalls>();

  *read({ value, line: lineNumber }: JsonValue): Generator<TraceEvent> {
    const fault = (message: string): TraceEvent => ({ type: 'fault', message, line: lineNumber });
    const line = fieldsOf<keyof Line>(value);
    if (line === undefined || typeof line.type !== 'string') {
      yield fault(`expected an object with a "type", got ${kindOf(value)}`);
      return;
    }
    if (!TYPES.has(line.type)) {
      yield fault(
        `unknown type ${JSON.stringify(line.type.slice(0, 60))}; there are: ${[...TYPES].join(', ')}`,
      );
      return;
    }
    const run = nameOf(line.run);
    // A call without any run was refused for that, and is no part of a run.
    if (line.type === 'call.refused' && line.run === null) return;
    if (run === undefined) {
      yield fault(`${line.type} without "run", the id of its run`);
      return;
    }
    switch (line.type) {
      case 'run.started':
        return yield* this.#beginRun(run, line, fault);
      case 'call.started':
      case 'call.refused':
        return yield* this.#beginCall(run, line, lineNumber, fault);
      case 'call.ended':
        return yield* this.#endCall(run, line, fault);
      case 'phase.proposed':
        if (typeof line.target === 'string') yield { type: 'phase.proposed', run, target: line.target };
        else yield fault('phase.proposed without "target", the phase');
        return;
      case 'run.ended':
        return yield* this.#endRun(run, line);
    }
  }

  *#beginRun(run: string, line: Line, fault: (message: string) => TraceEvent): Generator<TraceEvent> {
    const parentRun = nameOf(line.parent);
    const parentCall = nameOf(line.call);
    const call = parentRun === undefined ? undefined : this.#live.get(parentRun)?.newest(parentCall);
    if (parentRun !== undefined && call === undefined) {
      yield fault(
        `run ${run} is begun in call ${parentCall ?? '(not named)'} of run ${parentRun}, which is not open here; it is replayed as an outermost run`,
      );
    }
    // The same id again is another run: recordings of several processes in one file.
    if (this.#live.has(run)) yield { type: 'run.ended', run };
    this.#ended.delete(run);
    this.#live.set(run, new OpenCalls());
    if (parentRun === undefined || call === undefined) yield { type: 'run.started', run };
    else yield { type: 'run.started', run, parent: { run: parentRun, call } };
  }

  *#beginCall(
    run: string,
    line: Line,
    lineNumber: number,
    fault: (message: string) => TraceEvent,
  ): Generator<TraceEvent> {
    const tool = nameOf(line.tool);
    if (tool === undefined) {
      yield fault(`${String(line.type)} without "tool", the name of the tool`);
      return;
    }
    const open = this.#callsOf(run);
    const parentId = nameOf(line.parent);
    const parent = parentId === undefined ? undefined : open.newest(parentId);
    if (parentId !== undefined && parent === undefined) {
      yield fault(
        `${tool} was called from inside call ${parentId}, which is not open in run ${run}; it is replayed as a top-level call`,
      );
    }
    const callId = nameOf(line.call);
    const call = open.add(callId, tool);
    yield { type: 'call.started', run, call, callId, tool, args: line.args, parent, line: lineNumber };
    if (line.type === 'call.refused') {
      open.remove(call);
      yield { type: 'call.ended', run, call, ok: null };
    }
  }

  *#endCall(run: string, line: Line, fault: (message: string) => TraceEvent): Generator<TraceEvent> {
    if (line.ok !== undefined && typeof line.ok !== 'boolean') {
      yield fault(`"ok" must be true or false, got ${kindOf(line.ok)}`);
      return;
    }
    const id = nameOf(line.call);
    const call = this.#callsOf(run).take(id, nameOf(line.tool));
    if (call !== undefined) yield { type: 'call.ended', run, call, ok: line.ok ?? null };
    else
      yield fault(`a call ended that is not open in run ${run}: ${id ?? nameOf(line.tool) ?? '(not named)'}`);
  }

  *#endRun(run: string, line: Line): Generator<TraceEvent> {
    const open = this.#live.get(run);
    this.#live.delete(run);
    this.#ended.set(run, open ?? new OpenCalls());
    if (this.#ended.size > ENDED_MEMORY) this.#ended.delete(this.#ended.keys().next().value ?? '');
    yield { type: 'run.ended', run, reason: nameOf(line.reason) };
  }

  #callsOf(run: string): OpenCalls {
    const known = this.#live.get(run) ?? this.#ended.get(run);
    if (known !== undefined) return known;
    const calls = new OpenCalls();
    this.#live.set(run, calls);
    return calls;
  }
}

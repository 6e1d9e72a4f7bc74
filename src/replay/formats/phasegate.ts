import type { RunState } from '../../supervisor.ts';
import type { Likelihood, TraceEvent, TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, listOf, nameOf } from '../json.ts';
import type { JsonItem } from '../json-values.ts';
import { OpenCalls } from '../open-calls.ts';

/**
 * The package's own recording: what an enforcement tells its listeners, one JSON object a line. Runs may be interleaved,
 * calls may overlap; ids of calls may repeat or be absent.
 *
 * - `run.started`: `run`; for a child run also `parent`, the run, and `call`, the call in whose body it was begun (without
 *   it, the latest that is open); for one that was saved and is resumed here also `resumed`, with its `state` and `calls`.
 * - `call.started`: `run`, `tool`; `call`, `args`; for a nested call `parent`, the call that made it.
 * - `call.refused`: the same. It is replayed as a call that was asked for and has no result.
 * - `call.ended`: `run`, `ok`; `call`, or `tool`, or neither: then it is the oldest call that it can be. One that was
 *   `interrupted` need not be open.
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
    const recording = new Recording();
    const values = source.values((line) => PHASE_ENTERED.test(line));
    for await (const items of values) yield recording.read(items);
  },
};

// Most lines tell of a phase, and say nothing to a replay. One with a further brace may be two, of a program that was killed.
const PHASE_ENTERED = /^\{"type":"phase\.entered",[^{]*\}$/;

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
  | 'type'
  | 'run'
  | 'call'
  | 'tool'
  | 'args'
  | 'parent'
  | 'ok'
  | 'interrupted'
  | 'reason'
  | 'target'
  | 'resumed'
>;

type Resumed = Pick<RunState, 'phase' | 'stepCount' | 'loopCount' | 'finished'>;

interface ResumedRun {
  readonly state: Resumed;
  readonly calls: readonly ResumedCall[];
}

interface ResumedCall {
  readonly seq: unknown;
  readonly id: string | undefined;
  readonly tool: string;
  readonly parent: unknown;
}

/** Where a run goes on; `undefined` for one that begins, `null` where it cannot be read. */
function resumedIn(value: unknown): ResumedRun | undefined | null {
  if (value === undefined || value === null) return undefined;
  const resumed = fieldsOf<'state' | 'calls'>(value);
  const state = fieldsOf<keyof Resumed>(resumed?.state);
  const phase = nameOf(state?.phase);
  const stepCount = state?.stepCount;
  if (phase === undefined || !isWhole(stepCount)) return null;
  const loopCount = Object.fromEntries(
    Object.entries(fieldsOf<string>(state?.loopCount) ?? {}).filter((entry): entry is [string, number] =>
      isWhole(entry[1]),
    ),
  );
  const calls = listOf(resumed?.calls).flatMap((one) => {
    const call = fieldsOf<keyof ResumedCall>(one);
    const tool = nameOf(call?.tool);
    return tool === undefined ? [] : [{ seq: call?.seq, id: nameOf(call?.id), tool, parent: call?.parent }];
  });
  return { state: { phase, stepCount, loopCount, finished: state?.finished === true }, calls };
}

// Calls in flight are made again. The first of a visit to ACTING is no self-loop, and all others are nested, or tried again.
function beforeCalls({ state, calls }: ResumedRun): Resumed {
  if (calls.length === 0) return state;
  const loops = (state.loopCount[state.phase] ?? 0) - calls.length;
  return loops < 0
    ? { ...state, phase: 'IDLE', loopCount: {} }
    : { ...state, loopCount: { [state.phase]: loops } };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

// Runs that have ended are remembered for a while: calls that they left behind end, or are asked for, after them.
const ENDED_MEMORY = 50;

class Recording {
  // By the id of the run; its open calls.
  readonly #live = new Map<string, OpenCalls>();
  readonly #ended = new Map<string, OpenCalls>();
  // What the present lines say.
  #events: TraceEvent[] = [];

  read(items: readonly JsonItem[]): readonly TraceEvent[] {
    this.#events = [];
    for (const item of items) {
      if (item.fault === undefined) this.#readLine(item.value, item.line);
      else this.#fault(item.fault, item.line);
    }
    return this.#events;
  }

  #readLine(value: unknown, at: number): void {
    const line = fieldsOf<keyof Line>(value);
    const type = line?.type;
    if (line === undefined || typeof type !== 'string') {
      this.#fault(`expected an object with a "type", got ${kindOf(value)}`, at);
      return;
    }
    const run = nameOf(line.run);
    if (run === undefined) {
      this.#withoutRun(type, line, at);
      return;
    }
    switch (type) {
      case 'call.started':
      case 'call.refused':
        this.#beginCall(run, type, line, at);
        break;
      case 'call.ended':
        this.#endCall(run, line, at);
        break;
      case 'run.started':
        this.#beginRun(run, line, at);
        break;
      case 'run.ended':
        this.#endRun(run, line);
        break;
      case 'phase.proposed':
        if (typeof line.target !== 'string') this.#fault('phase.proposed without "target", the phase', at);
        else this.#events.push({ type, run, target: line.target });
        break;
      case 'call.waiting':
      case 'phase.entered':
        break;
      default:
        this.#unknownType(type, at);
    }
  }

  #withoutRun(type: string, line: Line, at: number): void {
    if (!TYPES.has(type)) this.#unknownType(type, at);
    // A call that was refused for want of a run is no part of one.
    else if (type !== 'call.refused' || line.run !== null)
      this.#fault(`${type} without "run", the id of its run`, at);
  }

  #unknownType(type: string, at: number): void {
    const types = [...TYPES].join(', ');
    this.#fault(`unknown type ${JSON.stringify(type.slice(0, 60))}; there are: ${types}`, at);
  }

  #fault(message: string, line: number): void {
    this.#events.push({ type: 'fault', message, line });
  }

  #beginRun(run: string, line: Line, at: number): void {
    const resumed = resumedIn(line.resumed);
    if (resumed === null) {
      this.#fault(
        `"resumed" must have the state and the calls of run ${run}, which is taken to begin here`,
        at,
      );
    }
    // What was recorded before it was saved may be in the same file.
    const known = resumed ? this.#live.get(run) : undefined;
    if (known === undefined) this.#beginAnew(run, line, resumed ? beforeCalls(resumed) : undefined, at);
    if (!resumed) return;
    if (resumed.state.finished) this.#endRun(run, line);
    else this.#goOn(run, this.#callsOf(run), resumed.calls, at);
  }

  #beginAnew(run: string, line: Line, resumed: Resumed | undefined, at: number): void {
    const parentRun = nameOf(line.parent);
    const parentCall = nameOf(line.call);
    const call = parentRun === undefined ? undefined : this.#live.get(parentRun)?.newest(parentCall);
    if (parentRun !== undefined && call === undefined) {
      this.#fault(
        `run ${run} is begun in call ${parentCall ?? '(not named)'} of run ${parentRun}, which is not open here; it is replayed as an outermost run`,
        at,
      );
    }
    // The same id again is another run: recordings of several processes in one file.
    if (this.#live.has(run)) this.#events.push({ type: 'run.ended', run });
    this.#ended.delete(run);
    this.#live.set(run, new OpenCalls());
    const parent = parentRun === undefined || call === undefined ? undefined : { run: parentRun, call };
    this.#events.push({ type: 'run.started', run, parent, resumed });
  }

  /** Those calls are in flight, and no others: of whatever else was open nothing more is known. */
  #goOn(run: string, open: OpenCalls, calls: readonly ResumedCall[], at: number): void {
    const known = calls.map((call) => ({ ...call, key: open.take(call.id, call.tool) }));
    for (const call of open.takeAll()) this.#events.push({ type: 'call.ended', run, call, ok: null });
    const bySeq = new Map<unknown, string>();
    for (const { seq, id, tool, parent, key } of known) {
      const call = open.add(id, tool, key);
      bySeq.set(seq, call);
      if (key !== undefined) continue;
      this.#events.push({
        type: 'call.started',
        run,
        call,
        callId: id,
        tool,
        parent: bySeq.get(parent),
        line: at,
      });
    }
  }

  #beginCall(run: string, type: 'call.started' | 'call.refused', line: Line, at: number): void {
    const tool = nameOf(line.tool);
    if (tool === undefined) {
      this.#fault(`${type} without "tool", the name of the tool`, at);
      return;
    }
    const open = this.#callsOf(run);
    const parentId = nameOf(line.parent);
    const parent = parentId === undefined ? undefined : open.newest(parentId);
    if (parentId !== undefined && parent === undefined) {
      this.#fault(
        `${tool} was called from inside call ${parentId}, which is not open in run ${run}; it is replayed as a top-level call`,
        at,
      );
    }
    const callId = nameOf(line.call);
    const call = open.add(callId, tool);
    this.#events.push({ type: 'call.started', run, call, callId, tool, args: line.args, parent, line: at });
    if (type === 'call.refused') {
      open.remove(call);
      this.#events.push({ type: 'call.ended', run, call, ok: null });
    }
  }

  #endCall(run: string, line: Line, at: number): void {
    const { ok } = line;
    if (ok !== undefined && typeof ok !== 'boolean') {
      this.#fault(`"ok" must be true or false, got ${kindOf(ok)}`, at);
      return;
    }
    const id = nameOf(line.call);
    const tool = nameOf(line.tool);
    const call = this.#callsOf(run).take(id, tool);
    if (call !== undefined) this.#events.push({ type: 'call.ended', run, call, ok: ok ?? null });
    // Of a run that had ended when it was saved, the calls are not asked for again.
    else if (line.interrupted !== true)
      this.#fault(`a call ended that is not open in run ${run}: ${id ?? tool ?? '(not named)'}`, at);
  }

  #endRun(run: string, line: Line): void {
    const open = this.#live.get(run);
    this.#live.delete(run);
    this.#ended.set(run, open ?? new OpenCalls());
    if (this.#ended.size > ENDED_MEMORY) this.#ended.delete(this.#ended.keys().next().value ?? '');
    this.#events.push({ type: 'run.ended', run, reason: nameOf(line.reason) });
  }

  #callsOf(run: string): OpenCalls {
    const known = this.#live.get(run) ?? this.#ended.get(run);
    if (known !== undefined) return known;
    const calls = new OpenCalls();
    this.#live.set(run, calls);
    return calls;
  }
}

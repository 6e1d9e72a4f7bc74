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
 * - `call.reserved`: the same, before checks run on a call; it is then started or refused.
 * - `call.refused`: the same. It is replayed as a call that was asked for and has no result.
 * - `call.ended`: `run`, `ok`; `call`, or `tool`, or neither: then it is the oldest call that it can be. One that was
 *   `interrupted` need not be open.
 * - `run.ended`: `run`; `reason`, if it was aborted.
 *
 * What an enforcement tells has more: `seq`, the number of each call in its run, and `budget` of each run. It tells all of a
 * run, so that a call that is not open has ended, and one that is open at the end of its run ends later. The records of an
 * audit log about itself (`log.…`) say nothing to a replay but what is missing.
 */
export const phasegate: TraceFormat = {
  name: 'phasegate',
  description: "this package's own recordings (JSON lines)",
  detect(value): Likelihood {
    const record = fieldsOf<'type' | 'run'>(value);
    if (record?.type === 'log.opened') return 'yes';
    return TYPES.has(record?.type) && nameOf(record?.run) !== undefined ? 'yes' : 'no';
  },
  async *read(source) {
    const recording = new Recording();
    const values = source.values((line) => PHASE_ENTERED.test(line));
    for await (const items of values) yield recording.read(items);
  },
};

// Most lines tell of a phase, and say nothing to a replay. One with a further brace may be two, of a program that was killed.
// In a chain the names are in order, and the type comes late; in a text it would have a backslash before its quote.
const PHASE_ENTERED = /^\{(?:[^{]*,)?"type":"phase\.entered",[^{]*\}$/;

const TYPES: ReadonlySet<unknown> = new Set([
  'run.started',
  'run.ended',
  'call.waiting',
  'call.reserved',
  'call.started',
  'call.refused',
  'call.ended',
  'phase.entered',
  'phase.proposed',
  'log.opened',
  'log.gap',
  'log.closed',
]);

type Line = Fields<
  | 'type'
  | 'run'
  | 'call'
  | 'seq'
  | 'tool'
  | 'args'
  | 'parent'
  | 'budget'
  | 'code'
  | 'message'
  | 'stage'
  | 'ok'
  | 'interrupted'
  | 'late'
  | 'reason'
  | 'stepCount'
  | 'target'
  | 'resumed'
  | 'lost'
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

// Calls in flight are made again. Of these the nested ones loop on ACTING, and so does the first, unless it leads there; others
// join it.
function beforeCalls({ state, calls }: ResumedRun): Resumed {
  if (calls.length === 0) return state;
  const nested = calls.filter(({ parent }) => typeof parent === 'number').length;
  const loops = (state.loopCount[state.phase] ?? 0) - nested - 1;
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
      case 'call.reserved':
      case 'call.started':
      case 'call.refused':
        if (!this.#decideReserved(run, type, line)) this.#beginCall(run, type, line, at);
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
        else if (line.code !== 'actor-disagrees') this.#events.push({ type, run, target: line.target });
        break;
      case 'call.waiting':
      case 'phase.entered':
        break;
      default:
        this.#unknownType(type, at);
    }
  }

  #withoutRun(type: string, line: Line, at: number): void {
    if (type.startsWith('log.') && TYPES.has(type)) this.#readOfLog(type, line, at);
    else if (!TYPES.has(type)) this.#unknownType(type, at);
    // A call that was refused for want of a run is no part of one.
    else if (type !== 'call.refused' || line.run !== null)
      this.#fault(`${type} without "run", the id of its run`, at);
  }

  #readOfLog(type: string, { lost }: Line, at: number): void {
    if (type === 'log.gap')
      this.#fault(`${lost} records before this line could not be written, and are lost`, at);
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
    // What was recorded before it was saved may be in the same file, with its end.
    if (resumed?.state.finished && this.#ended.has(run) && !this.#live.has(run)) return;
    const known = resumed ? this.#live.get(run) : undefined;
    if (known === undefined) this.#beginAnew(run, line, resumed ? beforeCalls(resumed) : undefined, at);
    if (!resumed) return;
    if (resumed.state.finished) this.#endRun(run, line);
    else this.#goOn(run, this.#callsOf(run), resumed.calls, at);
  }

  #beginAnew(run: string, line: Line, resumed: Resumed | undefined, at: number): void {
    const parentRun = nameOf(line.parent);
    const parentCall = nameOf(line.call);
    const around = parentRun === undefined ? undefined : this.#known(parentRun);
    let call = around?.newest(parentCall);
    const budget = line.budget === 'own' || line.budget === 'shared' ? line.budget : undefined;
    // Its call has ended, and it is a child of that run none the less.
    if (budget !== undefined && around !== undefined) call ??= '';
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
    this.#events.push({ type: 'run.started', run, parent, budget, resumed });
  }

  /** Those calls are in flight, and no others: of whatever else was open nothing more is known. */
  #goOn(run: string, open: OpenCalls, calls: readonly ResumedCall[], at: number): void {
    const known = calls.map((call) => {
      const seq = typeof call.seq === 'number' ? call.seq : undefined;
      const numbered = seq === undefined ? undefined : open.takeNumbered(seq);
      return { ...call, seq, key: numbered ?? open.take(call.id, call.tool) };
    });
    for (const call of open.takeAll()) this.#events.push({ type: 'call.ended', run, call, ok: null });
    const bySeq = new Map<unknown, string>();
    for (const { seq, id, tool, parent, key } of known) {
      const call = open.add(id, tool, seq, key);
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

  /** A call that was reserved is now admitted or refused. @returns Whether it is one. */
  #decideReserved(run: string, type: string, line: Line): boolean {
    const open = this.#known(run);
    const call = typeof line.seq === 'number' ? open?.numbered(line.seq) : undefined;
    if (open === undefined || call === undefined || type === 'call.reserved') return false;
    const { code, message, stage } = line;
    if (type === 'call.started') {
      this.#events.push({ type: 'call.checked', run, call });
      return true;
    }
    open.remove(call);
    // Its run is about to end, which refuses it in the replay too.
    if (code === 'run-completed') return true;
    // Others had moved the run since, which they do in the replay too.
    const checked = stage === 'dfa' && code !== 'actor-disagrees';
    const refusal = checked
      ? undefined
      : { code: String(code), message: String(message), stage: String(stage) };
    this.#events.push({ type: 'call.checked', run, call, refusal });
    return true;
  }

  #beginCall(
    run: string,
    type: 'call.reserved' | 'call.started' | 'call.refused',
    line: Line,
    at: number,
  ): void {
    const tool = nameOf(line.tool);
    if (tool === undefined) {
      this.#fault(`${type} without "tool", the name of the tool`, at);
      return;
    }
    const seq = typeof line.seq === 'number' ? line.seq : undefined;
    const refused =
      type === 'call.refused'
        ? seq !== undefined && this.#isOtherwise(run, line)
          ? 'otherwise'
          : 'by-rules'
        : undefined;
    // It was left behind by a run that has ended long ago.
    if (refused === 'otherwise' && this.#known(run) === undefined) return;
    const open = this.#callsOf(run);
    const parentId = nameOf(line.parent);
    const parent = parentId === undefined ? undefined : open.newest(parentId);
    if (parentId !== undefined && parent === undefined && seq === undefined) {
      this.#fault(
        `${tool} was called from inside call ${parentId}, which is not open in run ${run}; it is replayed as a top-level call`,
        at,
      );
    }
    const callId = nameOf(line.call);
    const call = open.add(callId, tool, seq);
    const checked = type === 'call.reserved' ? true : undefined;
    const { args } = line;
    this.#events.push({
      type: 'call.started',
      run,
      call,
      callId,
      tool,
      args,
      parent,
      line: at,
      checked,
      refused,
    });
    if (refused === undefined) return;
    open.remove(call);
    if (refused === 'by-rules') this.#events.push({ type: 'call.ended', run, call, ok: null });
  }

  /** Whether a call was refused for what a replay has not: time, observers, an actor; or as its run was about to end. */
  #isOtherwise(run: string, { code }: Line): boolean {
    if (code === 'run-completed') return !this.#ended.has(run);
    return code === 'wait-timeout' || code === 'observer-failed' || code === 'actor-disagrees';
  }

  #endCall(run: string, line: Line, at: number): void {
    const { ok } = line;
    if (ok !== undefined && typeof ok !== 'boolean') {
      this.#fault(`"ok" must be true or false, got ${kindOf(ok)}`, at);
      return;
    }
    const id = nameOf(line.call);
    const tool = nameOf(line.tool);
    const open = this.#known(run);
    const numbered = typeof line.seq === 'number';
    // It was left behind by a run that has ended long ago.
    if (numbered && open === undefined && line.late === true) return;
    const call = numbered
      ? this.#callsOf(run).takeNumbered(line.seq as number)
      : this.#callsOf(run).take(id, tool);
    if (call !== undefined) this.#events.push({ type: 'call.ended', run, call, ok: ok ?? null });
    // Of a run that had ended when it was saved, the calls are not asked for again.
    else if (line.interrupted !== true && line.late !== true)
      this.#fault(`a call ended that is not open in run ${run}: ${id ?? tool ?? '(not named)'}`, at);
  }

  #endRun(run: string, line: Line): void {
    const open = this.#live.get(run);
    this.#live.delete(run);
    this.#ended.set(run, open ?? new OpenCalls());
    if (this.#ended.size > ENDED_MEMORY) this.#ended.delete(this.#ended.keys().next().value ?? '');
    // Whoever counts the steps of a run tells of the ends of all its calls.
    const openCalls = typeof line.stepCount === 'number' ? 'end-later' : undefined;
    this.#events.push({ type: 'run.ended', run, reason: nameOf(line.reason), openCalls });
  }

  #known(run: string): OpenCalls | undefined {
    return this.#live.get(run) ?? this.#ended.get(run);
  }

  #callsOf(run: string): OpenCalls {
    const known = this.#known(run);
    if (known !== undefined) return known;
    const calls = new OpenCalls();
    this.#live.set(run, calls);
    return calls;
  }
}

/**
 * What the events of a run amount to: where it was after each of them, and how its calls lay in time. Free of Node and of the
 * page, which both use it.
 *
 * Nothing is copied and nothing is undone to look back. A run keeps a frame for each event that changed it, and a call keeps
 * the moments of its life, so that the state after any event is found by comparing indexes.
 */
import type { Phase } from '../phases.ts';

/** When something happened: after how many events of the stream, and at what time. */
export interface Moment {
  /** The index of the event that tells of it. */
  readonly index: number;
  /** Milliseconds since 1970, as the event says. */
  readonly time: number;
}

/** Where a run is after an event. */
export interface RunFrame extends Moment {
  /** `null` until it is known: a stream may begin in the middle of a run. */
  readonly phase: Phase | null;
  readonly stepCount: number;
  /** Self-loops on the present phase. */
  readonly loopCount: number;
  readonly inFlight: number;
  /** Calls that wait for their turn, or for their checks. */
  readonly waiting: number;
  readonly finished: boolean;
  /** Why it was aborted or terminated. */
  readonly reason: string | null;
  /**
   * The phases that its latest move led through, the one where it began included, and at most the last hundred or so; none when
   * a call joined others.
   */
  readonly hops: readonly Phase[];
  /** Calls asked for so far, the refused ones included. */
  readonly calls: number;
  readonly refused: number;
  readonly failed: number;
}

// No run takes as many hops for one move, or has as many calls in flight: of a stream that tells of ever more, the oldest are
// forgotten.
const HOPS_LIMIT = 100;
const NAMES_LIMIT = 50_000;
const SAME_NAME_LIMIT = 500;

/** How far a call had come; `waiting` for its turn, or for its checks. */
export type CallState = 'waiting' | 'in-flight' | 'ended' | 'failed' | 'refused';

export interface CallRefusal {
  readonly code: string;
  readonly message: string;
  readonly stage: string | null;
}

/** A call, from the question to its end. */
export class CallTrack {
  readonly run: RunTrack;
  /** Its place among the calls of its run, from 0. */
  readonly place: number;
  /** As the caller or the run gave it; may repeat. */
  readonly id: string | null;
  readonly tool: string;
  /** The call from inside whose body it was made. */
  readonly parent: CallTrack | null;
  /** The runs that were begun in its body. */
  readonly children: RunTrack[] = [];
  /** When it was put in line; `null` if it never was. */
  waiting: Moment | null = null;
  /** When its checks began; `null` where there were none. */
  reserved: Moment | null = null;
  started: Moment | null = null;
  ended: Moment | null = null;
  refused: Moment | null = null;
  /** Whether it ended well, where it has ended. */
  ok = false;
  /** Whether it ended after its run, so that nothing was counted (SPEC §6.2). */
  late = false;
  /** Whether its run was resumed without it: how it ended is not known (SPEC §11.2). */
  interrupted = false;
  /** What it failed with, in words. */
  error: string | null = null;
  refusal: CallRefusal | null = null;
  /** Milliseconds; `null` where the stream does not say. */
  waitedMs: number | null = null;
  decisionMs: number | null = null;
  /** The phases that the run took for it. */
  hops: readonly Phase[] = [];

  constructor(run: RunTrack, place: number, id: string | null, tool: string, parent: CallTrack | null) {
    this.run = run;
    this.place = place;
    this.id = id;
    this.tool = tool;
    this.parent = parent;
  }

  /** When it was first heard of. */
  get asked(): Moment {
    return this.waiting ?? this.reserved ?? this.started ?? this.refused ?? this.ended ?? NEVER;
  }

  /** How far it had come after the event of that index; `null` before it was asked for. */
  stateAt(index: number): CallState | null {
    if (isBy(this.ended, index)) return this.ok ? 'ended' : 'failed';
    if (isBy(this.refused, index)) return 'refused';
    if (isBy(this.started, index)) return 'in-flight';
    return isBy(this.waiting, index) || isBy(this.reserved, index) ? 'waiting' : null;
  }
}

/** What a run is held to, as it was told when it began. */
export interface RunTerms {
  /** `null`: no limit, or not known. */
  readonly maxSteps: number | null;
  readonly maxLoopsPerPhase: number | null;
  /** Whether the budgets and the table hold calls back (SPEC §7). */
  readonly dfa: boolean;
  readonly budget: 'shared' | 'own';
  /** `null`: the default table, or not known. */
  readonly transitions: ReadonlyMap<Phase, readonly Phase[]> | null;
}

/** One run of a stream. */
export class RunTrack {
  readonly id: string | null;
  /** What the server calls it. */
  readonly key: string | null;
  /** The run that it is a child of, where that is in the stream. */
  readonly parent: RunTrack | null;
  /** The call in whose body it was begun, where that is in the stream. */
  readonly parentCall: CallTrack | null;
  readonly terms: RunTerms;
  /** Its calls, in the order in which they were first heard of. */
  readonly calls: CallTrack[] = [];
  started: Moment | null = null;
  ended: Moment | null = null;
  last: CallTrack | null = null;
  lastRefused: CallTrack | null = null;
  /** Where it is now. */
  now: RunFrame;
  readonly #frames: RunFrame[] = [];
  readonly #keeps: boolean;
  // The calls that have neither ended nor been refused. Ids may repeat, numbers may be absent.
  readonly #open = new Map<CallName, CallTrack[]>();
  // Whether the latest event of the run was a hop: the next one goes on from there.
  #hopping = false;

  constructor(
    named: Pick<RunTrack, 'id' | 'key' | 'parent' | 'parentCall' | 'terms'>,
    phase: Phase | null,
    keeps: boolean,
  ) {
    this.id = named.id;
    this.key = named.key;
    this.parent = named.parent;
    this.parentCall = named.parentCall;
    this.terms = named.terms;
    this.#keeps = keeps;
    this.now = { ...BEFORE, phase };
  }

  /** Where it was after the event of that index; `null` before its first. */
  at(index: number): RunFrame | null {
    return lastBy(this.#frames, index);
  }

  /** Its calls that had been heard of after the event of that index. */
  callsAt(index: number): readonly CallTrack[] {
    return this.calls.slice(0, this.at(index)?.calls ?? 0);
  }

  /** The latest call in flight that goes by that id, or has that number. */
  inFlight(name: CallName): CallTrack | null {
    return this.#open.get(name)?.findLast((call) => call.started !== null) ?? null;
  }

  /** Takes an event of this run, other than its beginning. */
  take(event: Fields, moment: Moment): void {
    this.#change(moment, this.#changesBy(event, moment));
    if (event.type === 'call.ended' && event.ok === true) this.#chargeAncestors(moment);
    this.#hopping = event.type === 'phase.entered';
  }

  /** Takes its beginning, or where it is resumed (SPEC §11). */
  begin(event: Fields, moment: Moment): void {
    this.started ??= moment;
    const saved = savedIn(event.resumed);
    this.#change(moment, saved === null ? {} : this.#resume(saved, moment));
    this.#hopping = false;
  }

  #resume({ state, calls }: Saved, moment: Moment): Partial<RunFrame> {
    let asked = 0;
    for (const { seq, id, tool, parent } of calls) {
      const call = { ...NOTHING, seq, call: id, tool, parent };
      if (this.#named(call, ({ started }) => started !== null) !== null) continue;
      this.#ask(call, this.now.calls + asked).started = moment;
      asked += 1;
    }
    return { ...state, calls: this.now.calls + asked, inFlight: calls.length, waiting: 0, hops: [] };
  }

  #change(moment: Moment, changes: Partial<RunFrame>): void {
    this.now = { ...this.now, ...changes, index: moment.index, time: moment.time };
    if (this.#keeps) this.#frames.push(this.now);
  }

  // A call was made, so whoever shares his budget pays for it, also when it ends too late for this run (SPEC §10.2).
  #chargeAncestors(moment: Moment): void {
    if (this.terms.budget === 'own') return;
    for (let run = this.parent; run !== null; run = run.parent) {
      if (!run.now.finished) run.#change(moment, { stepCount: run.now.stepCount + 1 });
    }
  }

  #changesBy(event: Fields, moment: Moment): Partial<RunFrame> {
    switch (event.type) {
      case 'phase.entered':
        return this.#enter(event);
      case 'call.waiting':
        return this.#wait(event, moment);
      case 'call.reserved':
        return this.#reserve(event, moment);
      case 'call.started':
        return this.#start(event, moment);
      case 'call.refused':
        return this.#refuse(event, moment);
      case 'call.ended':
        return this.#end(event, moment);
      case 'run.ended':
        return this.#finish(event, moment);
      default:
        return {};
    }
  }

  #enter(event: Fields): Partial<RunFrame> {
    const { now } = this;
    const phase = textOf(event.phase);
    if (phase === null || now.finished) return {};
    const from = textOf(event.from) ?? now.phase;
    const before = this.#hopping ? now.hops : from === null ? [] : [from];
    const hops = [...before.slice(-HOPS_LIMIT), phase];
    return { phase, loopCount: phase === from ? now.loopCount + 1 : 0, hops };
  }

  #wait(event: Fields, moment: Moment): Partial<RunFrame> {
    const { calls, waiting } = this.now;
    this.#ask(event).waiting = moment;
    return { calls: calls + 1, waiting: waiting + 1 };
  }

  #reserve(event: Fields, moment: Moment): Partial<RunFrame> {
    const { calls, waiting } = this.now;
    const waited = this.#waiting(event);
    const call = waited ?? this.#ask(event);
    call.reserved = moment;
    return waited === null ? { calls: calls + 1, waiting: waiting + 1 } : {};
  }

  #start(event: Fields, moment: Moment): Partial<RunFrame> {
    const { phase, inFlight, hops, finished } = this.now;
    const { call, counted } = this.#decided(event);
    call.started = moment;
    call.hops = this.#hopping ? hops : [];
    return {
      ...counted,
      ...countersOf(event),
      phase: finished ? phase : 'ACTING',
      inFlight: inFlight + 1,
      hops: call.hops,
    };
  }

  #refuse(event: Fields, moment: Moment): Partial<RunFrame> {
    const { phase, refused, inFlight } = this.now;
    // An observer that calls depend on hears of a start, and then of the refusal, where another one has failed.
    const taken = numberOf(event.seq) === null ? null : this.#named(event, ({ started }) => started !== null);
    const { call, counted } =
      taken === null ? this.#decided(event) : { call: taken, counted: { inFlight: inFlight - 1 } };
    this.#close(call, event);
    call.refused = moment;
    call.refusal = {
      code: textOf(event.code) ?? 'refused',
      message: textOf(event.message) ?? '',
      stage: textOf(event.stage),
    };
    this.lastRefused = call;
    return { ...counted, ...countersOf(event), phase: textOf(event.phase) ?? phase, refused: refused + 1 };
  }

  // A call that was decided: it may have waited for that.
  #decided(event: Fields): { readonly call: CallTrack; readonly counted: Partial<RunFrame> } {
    const { calls, waiting } = this.now;
    const waited = this.#waiting(event);
    const call = waited ?? this.#ask(event);
    call.waitedMs = numberOf(event.waitedMs);
    call.decisionMs = numberOf(event.decisionMs);
    return { call, counted: waited === null ? { calls: calls + 1 } : { waiting: waiting - 1 } };
  }

  #end(event: Fields, moment: Moment): Partial<RunFrame> {
    const { calls, inFlight, failed, stepCount, finished } = this.now;
    const open = this.#named(event, ({ started }) => started !== null);
    const call = open ?? this.#ask(event);
    this.#close(call, event);
    call.ended = moment;
    call.ok = event.ok === true;
    call.late = event.late === true;
    call.interrupted = event.interrupted === true;
    call.error = call.ok ? null : wordsOf(event.error);
    return {
      ...(open === null ? { calls: calls + 1 } : { inFlight: inFlight - 1 }),
      failed: failed + (call.ok ? 0 : 1),
      stepCount: stepCount + (call.ok && !finished ? 1 : 0),
      ...countersOf(event),
    };
  }

  #finish(event: Fields, moment: Moment): Partial<RunFrame> {
    if (this.now.finished) return {};
    this.ended = moment;
    return {
      ...countersOf(event),
      finished: true,
      phase: textOf(event.phase) ?? this.now.phase,
      reason: textOf(event.reason),
    };
  }

  #ask(event: Fields, place = this.now.calls): CallTrack {
    const parentName = textOf(event.parent) ?? countOf(event.parent);
    // What nobody looks back at must not keep all calls around it.
    const parent = parentName === null || !this.#keeps ? null : this.inFlight(parentName);
    const call = new CallTrack(this, place, textOf(event.call), textOf(event.tool) ?? '(unnamed)', parent);
    this.last = call;
    if (this.#keeps) this.calls.push(call);
    for (const name of namesOf(event)) this.#keepOpen(name, call);
    return call;
  }

  #keepOpen(name: CallName, call: CallTrack): void {
    const calls = this.#open.get(name) ?? [];
    if (calls.length === SAME_NAME_LIMIT) calls.shift();
    calls.push(call);
    this.#open.set(name, calls);
    if (this.#open.size <= NAMES_LIMIT) return;
    // Many at once, as a map that is only ever shortened at its front is slow.
    let left = NAMES_LIMIT / 10;
    for (const oldest of this.#open.keys()) {
      if (left-- === 0) return;
      this.#open.delete(oldest);
    }
  }

  #waiting(event: Fields): CallTrack | null {
    return this.#named(event, ({ started }) => started === null);
  }

  // By its number where it has one; else the oldest of that id, as calls of one id are served in their order.
  #named(event: Fields, fits: (call: CallTrack) => boolean): CallTrack | null {
    const [name] = namesOf(event);
    return (name !== undefined && this.#open.get(name)?.find(fits)) || null;
  }

  #close(call: CallTrack, event: Fields): void {
    for (const name of namesOf(event)) {
      const rest = this.#open.get(name)?.filter((other) => other !== call) ?? [];
      if (rest.length === 0) this.#open.delete(name);
      else this.#open.set(name, rest);
    }
  }
}

/** The runs of a stream of events: a run and its child runs, or whatever runs the stream tells of. */
export class RunModel {
  /** In the order in which they were first heard of. */
  readonly runs: RunTrack[] = [];
  readonly #keeps: boolean;
  #events: unknown[] = [];
  #length = 0;
  #time = 0;
  #runs = new Map<string | null, RunTrack>();

  /**
   * @param options.history Whether what was can be looked at, or only what is.
   * @default true
   */
  constructor({ history = true }: { readonly history?: boolean } = {}) {
    this.#keeps = history;
  }

  /** How many events were taken. */
  get length(): number {
    return this.#length;
  }

  /** The first run. */
  get root(): RunTrack | null {
    return this.runs[0] ?? null;
  }

  /** The event of that index, as it came. */
  event(index: number): unknown {
    return this.#events[index];
  }

  /**
   * Takes events. What is none, or makes no sense, has an index as well, and changes nothing: it never throws.
   *
   * @returns The run that the last of them is about.
   */
  append(events: readonly unknown[]): RunTrack | null {
    let run: RunTrack | null = null;
    for (const event of events) {
      run = this.#take(event);
      if (this.#keeps) this.#events.push(event);
      this.#length += 1;
    }
    return run;
  }

  #take(event: unknown): RunTrack | null {
    if (typeof event !== 'object' || event === null) return null;
    const fields = event as Fields;
    const id = fields.run === null ? null : textOf(fields.run);
    if (typeof fields.type !== 'string' || (id === null && fields.run !== null)) return null;
    this.#time = numberOf(fields.time) ?? this.#time;
    const moment = { index: this.#length, time: this.#time };
    if (fields.type === 'run.started') return this.#begin(id, fields, moment);
    const run = this.#runs.get(id) ?? this.#add(id, NOTHING, null);
    run.take(fields, moment);
    return run;
  }

  // The same id again is another run, unless it says that it goes on.
  #begin(id: string | null, event: Fields, moment: Moment): RunTrack {
    const known = this.#runs.get(id);
    const run =
      known !== undefined && isResumption(event.resumed, known) ? known : this.#add(id, event, 'IDLE');
    run.begin(event, moment);
    return run;
  }

  #add(id: string | null, event: Fields, phase: Phase | null): RunTrack {
    const parentId = textOf(event.parent);
    const parent = parentId === null ? null : (this.#runs.get(parentId) ?? null);
    const callId = textOf(event.call);
    const parentCall = parent === null || callId === null ? null : parent.inFlight(callId);
    const run = new RunTrack(
      { id, key: textOf(event.key), parent, parentCall, terms: termsOf(event) },
      phase,
      this.#keeps,
    );
    parentCall?.children.push(run);
    this.runs.push(run);
    this.#runs.set(id, run);
    return run;
  }
}

/** What an event may hold: nobody has looked at it yet. */
type Fields = Readonly<Record<EventField, unknown>>;

type EventField =
  | 'type'
  | 'run'
  | 'time'
  | 'key'
  | 'parent'
  | 'call'
  | 'seq'
  | 'tool'
  | 'from'
  | 'phase'
  | 'ok'
  | 'late'
  | 'error'
  | 'code'
  | 'message'
  | 'stage'
  | 'reason'
  | 'waitedMs'
  | 'decisionMs'
  | 'stepCount'
  | 'loopCount'
  | 'maxSteps'
  | 'maxLoopsPerPhase'
  | 'dfa'
  | 'budget'
  | 'transitions'
  | 'resumed'
  | 'interrupted';

// A call goes by its number in its run, where the stream has one, and by its id.
type CallName = string | number;

function namesOf({ seq, call }: Fields): CallName[] {
  const names: CallName[] = [];
  if (typeof seq === 'number' && seq > 0) names.push(seq);
  if (typeof call === 'string') names.push(call);
  return names;
}

const NOTHING = {} as Fields;
const NEVER: Moment = { index: -1, time: 0 };
const BEFORE: Omit<RunFrame, 'phase'> = {
  ...NEVER,
  stepCount: 0,
  loopCount: 0,
  inFlight: 0,
  waiting: 0,
  finished: false,
  reason: null,
  hops: [],
  calls: 0,
  refused: 0,
  failed: 0,
};

function isBy(moment: Moment | null, index: number): boolean {
  return moment !== null && moment.index <= index;
}

/** The last of the moments, which come in order, that is not after the event of that index. */
function lastBy<M extends Moment>(moments: readonly M[], index: number): M | null {
  let from = 0;
  for (let to = moments.length; from < to; ) {
    const middle = (from + to) >>> 1;
    if ((moments[middle] as M).index <= index) from = middle + 1;
    else to = middle;
  }
  return moments[from - 1] ?? null;
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

function countOf(value: unknown): number | null {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;
}

// What was thrown, as JSON has kept it.
function wordsOf(error: unknown): string | null {
  if (typeof error === 'object' && error !== null) return textOf((error as { message?: unknown }).message);
  return error === null || error === undefined ? null : String(error);
}

// What an event says of the counters is right even where events before it were lost.
function countersOf(event: Fields): Partial<RunFrame> {
  const stepCount = countOf(event.stepCount);
  const loopCount = countOf(event.loopCount);
  return { ...(stepCount !== null && { stepCount }), ...(loopCount !== null && { loopCount }) };
}

/**
 * Whether the beginning of a run with this `resumed` is that of a run which goes on, as it was saved. One that has ended is
 * also looked at: a service takes it from where it is kept again and again.
 */
export function isResumption(resumed: unknown, { now }: RunTrack): boolean {
  const saved = savedIn(resumed);
  return saved !== null && (!now.finished || saved.state.finished);
}

/** What is read of a run that was saved. */
interface Saved {
  readonly state: Pick<RunFrame, 'phase' | 'stepCount' | 'loopCount' | 'finished' | 'reason'>;
  readonly calls: readonly Readonly<Record<'seq' | 'id' | 'tool' | 'parent', unknown>>[];
}

function savedIn(resumed: unknown): Saved | null {
  if (!isObject(resumed) || !isObject(resumed['state']) || !Array.isArray(resumed['calls'])) return null;
  const { phase, stepCount, loopCount, finished, reason } = resumed['state'];
  return {
    state: {
      phase: textOf(phase),
      stepCount: countOf(stepCount) ?? 0,
      loopCount: isObject(loopCount) ? (countOf(Object.values(loopCount)[0]) ?? 0) : 0,
      finished: finished === true,
      reason: textOf(reason),
    },
    calls: resumed['calls'].filter(isObject) as Saved['calls'][number][],
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function termsOf({ maxSteps, maxLoopsPerPhase, dfa, budget, transitions }: Fields): RunTerms {
  return {
    maxSteps: countOf(maxSteps),
    maxLoopsPerPhase: countOf(maxLoopsPerPhase),
    dfa: dfa !== false,
    budget: budget === 'own' ? 'own' : 'shared',
    transitions: tableOf(transitions),
  };
}

function tableOf(transitions: unknown): ReadonlyMap<Phase, readonly Phase[]> | null {
  if (typeof transitions !== 'object' || transitions === null || Array.isArray(transitions)) return null;
  return new Map(
    Object.entries(transitions).map(([from, targets]) => [
      from,
      Array.isArray(targets) ? targets.filter((target) => typeof target === 'string') : [],
    ]),
  );
}

/** What the server knows of runs, within a bounded memory. */
import type { Dropped, RunSummary } from './protocol.ts';
import { isResumption, RunModel, type RunTrack } from './run-model.ts';
import type { TidyEvent } from './tidy-event.ts';

/** Is told what has changed. It looks for itself when it has time. */
export interface Watcher {
  changed(run: StoredRun): void;
  gone(run: StoredRun): void;
  dropped(): void;
}

/** Is told of each event. */
export type Told = (run: StoredRun, event: TidyEvent) => void;

/** Where runs come from: a process, or a file. */
export interface Source {
  /** For people. */
  readonly name: string;
  readonly clock: RunSummary['clock'];
  /** By id, the latest of each; the calls that were made outside of any run are those of `null`. */
  readonly runs: Map<string | null, StoredRun>;
  lost: number;
}

/** A run, and all that has been told of it. */
export class StoredRun {
  readonly key: string;
  readonly source: Source;
  readonly family: Family;
  readonly parent: StoredRun | null;
  /** How many runs are around it. */
  readonly depth: number;
  readonly #track: RunTrack;
  readonly #call: string | null;
  /** How many events there are of it and of its child runs. */
  events = 0;

  constructor(
    place: Pick<StoredRun, 'key' | 'source' | 'family' | 'parent'>,
    track: RunTrack,
    call: string | null,
  ) {
    this.key = place.key;
    this.source = place.source;
    this.family = place.family;
    this.parent = place.parent;
    this.depth = place.parent === null ? 0 : place.parent.depth + 1;
    this.#track = track;
    this.#call = call;
  }

  /** Whether it is this run, or one inside of it. */
  isWithin(run: StoredRun): boolean {
    for (let one: StoredRun | null = this; one !== null; one = one.parent) if (one === run) return true;
    return false;
  }

  get id(): string | null {
    return this.#track.id;
  }

  get finished(): boolean {
    return this.#track.now.finished;
  }

  /** Whether it is this run that goes on with that event. */
  isResumedBy(event: TidyEvent): boolean {
    return isResumption(event['resumed'], this.#track);
  }

  /** Where its phases lead; `null` for the default table. */
  get transitions(): RunTrack['terms']['transitions'] {
    return this.#track.terms.transitions;
  }

  summary(): RunSummary {
    const { now, terms, started, ended, last, lastRefused } = this.#track;
    const refusal = lastRefused?.refusal ?? null;
    return {
      key: this.key,
      run: this.id,
      source: this.source.name,
      parent: this.parent?.key ?? null,
      call: this.#call,
      phase: now.phase,
      live: !now.finished,
      reason: now.reason,
      startedAt: started?.time ?? null,
      endedAt: ended?.time ?? null,
      lastAt: now.time,
      clock: this.source.clock,
      stepCount: now.stepCount,
      maxSteps: terms.maxSteps,
      loopCount: now.loopCount,
      maxLoopsPerPhase: terms.maxLoopsPerPhase,
      dfa: terms.dfa,
      calls: now.calls,
      refused: now.refused,
      failed: now.failed,
      inFlight: now.inFlight,
      waiting: now.waiting,
      lastTool: last?.tool ?? null,
      lastRefusal: refusal && {
        code: refusal.code,
        message: refusal.message,
        tool: lastRefused?.tool ?? '',
      },
      events: this.events,
    };
  }
}

/** An outermost run and all runs inside of it: their events are one stream. */
class Family {
  readonly model = new RunModel({ history: false });
  readonly runs: StoredRun[] = [];
  readonly events: StoredEvent[] = [];
  size = 0;
}

/** An event as JSON. */
interface StoredEvent {
  readonly run: StoredRun;
  readonly text: string;
}

// What an event and a run take besides the text, about.
const EVENT_SIZE = 100;
const RUN_SIZE = 3_000;
const FAULTS_SHOWN = 100;
const OTHERS = 'Processes that are silent for long';
/** How deep runs are told to lie in each other: each event of a run is news of all runs around it. */
const DEPTH_LIMIT = 100;

/** All runs that are known. */
export class RunStore {
  readonly #keep: number;
  readonly #told: Told | undefined;
  readonly #families = new Set<Family>();
  // In the order in which they finished.
  readonly #finished = new Set<Family>();
  readonly #runs = new Map<string, StoredRun>();
  readonly #sources = new Set<Source>();
  readonly #watchers = new Set<Watcher>();
  #lostByOthers = 0;
  readonly #faults: Dropped['faults'][number][] = [];
  #faultCount = 0;
  #runsLetGo = 0;
  #eventsLetGo = 0;
  #keys = 0;
  #size = 0;

  /**
   * @param keep How many bytes it may use, about.
   * @param told Is told of each event that comes.
   */
  constructor(keep: number, told?: Told) {
    this.#keep = keep;
    this.#told = told;
  }

  /** The runs, in the order in which they were first heard of. */
  get runs(): ReadonlyMap<string, StoredRun> {
    return this.#runs;
  }

  get dropped(): Dropped {
    const lost = [...this.#sources, { name: OTHERS, lost: this.#lostByOthers }];
    return {
      lost: lost.filter(({ lost }) => lost > 0).map(({ name, lost }) => ({ source: name, events: lost })),
      runsLetGo: this.#runsLetGo,
      eventsLetGo: this.#eventsLetGo,
      faults: this.#faults,
      faultCount: this.#faultCount,
    };
  }

  /** @returns A function that ends it. */
  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  addSource(name: string, clock: Source['clock'] = 'time'): Source {
    const source: Source = { name, clock, runs: new Map(), lost: 0 };
    this.#sources.add(source);
    return source;
  }

  /** Nothing more comes of a source. What has come stays, and what has not is counted still. */
  removeSource(source: Source | undefined): void {
    if (source === undefined || !this.#sources.delete(source)) return;
    this.#lostByOthers += source.lost;
    if (source.lost > 0) this.#tellOfDropped();
  }

  /** Some events of a source did not come. */
  lose(source: Source, events: number): void {
    if (events === 0) return;
    source.lost += events;
    this.#tellOfDropped();
  }

  /** A line of a file cannot be read. */
  fault(fault: Dropped['faults'][number]): void {
    this.#faultCount += 1;
    if (this.#faults.length < FAULTS_SHOWN) this.#faults.push(fault);
    this.#tellOfDropped();
  }

  /**
   * Takes the next event of a source.
   *
   * @param json The event as JSON, where that is at hand.
   * @returns The run that it is about.
   */
  take(source: Source, event: TidyEvent, json?: string): StoredRun {
    const latest = source.runs.get(event.run);
    const known = event.type === 'run.started' && !latest?.isResumedBy(event) ? undefined : latest;
    const run = known ?? this.#begin(source, event);
    const { family } = run;
    if (known !== undefined) family.model.append([event]);
    this.#told?.(run, event);
    this.#makeRoom(family);
    this.#keepEvent(run, textOf(run, event, json));
    if (family.runs[0]?.finished) this.#finished.add(family);
    for (let one: StoredRun | null = run; one !== null; one = one.parent) {
      for (const watcher of this.#watchers) watcher.changed(one);
    }
    return run;
  }

  #begin(source: Source, event: TidyEvent): StoredRun {
    const { parent: parentId, call } = event;
    const isStart = event.type === 'run.started';
    const around = isStart && typeof parentId === 'string' ? source.runs.get(parentId) : undefined;
    const parent = around !== undefined && this.#hasRoomIn(around) ? around : null;
    const family = parent?.family ?? new Family();
    this.#keys += 1;
    const key = String(this.#keys);
    const track = family.model.append([isStart ? { ...event, key } : event]) as RunTrack;
    const callId = isStart && typeof call === 'string' ? call : null;
    const run = new StoredRun({ key, source, family, parent }, track, callId);
    family.runs.push(run);
    this.#grow(family, RUN_SIZE);
    this.#families.add(family);
    this.#runs.set(key, run);
    source.runs.set(event.run, run);
    return run;
  }

  // A child run that has no place there any more is shown as one on its own: what is around it may then be let go.
  #hasRoomIn({ depth, family }: StoredRun): boolean {
    return depth < DEPTH_LIMIT && family.size <= this.#keep;
  }

  #keepEvent(run: StoredRun, text: string): void {
    // Of a single run that is larger than all that may be kept, the rest is counted only.
    if (this.#size > this.#keep) {
      this.#eventsLetGo += 1;
      this.#tellOfDropped();
      return;
    }
    run.family.events.push({ run, text });
    this.#grow(run.family, sizeOf(text) + EVENT_SIZE);
    for (let one: StoredRun | null = run; one !== null; one = one.parent) one.events += 1;
  }

  #grow(family: Family, size: number): void {
    family.size += size;
    this.#size += size;
  }

  #makeRoom(current: Family): void {
    while (this.#size > this.#keep) {
      const oldest = firstBut(current, this.#finished) ?? firstBut(current, this.#families);
      if (oldest === undefined) return;
      this.#letGo(oldest);
    }
  }

  #letGo(family: Family): void {
    this.#families.delete(family);
    this.#finished.delete(family);
    this.#size -= family.size;
    this.#runsLetGo += family.runs.length;
    this.#eventsLetGo += family.events.length;
    for (const run of family.runs) {
      const { runs } = run.source;
      this.#runs.delete(run.key);
      if (runs.get(run.id) === run) runs.delete(run.id);
      for (const watcher of this.#watchers) watcher.gone(run);
    }
    this.#tellOfDropped();
  }

  #tellOfDropped(): void {
    for (const watcher of this.#watchers) watcher.dropped();
  }
}

function textOf(run: StoredRun, event: TidyEvent, json: string | undefined): string {
  if (event.type === 'run.started') return JSON.stringify({ ...event, key: run.key });
  // A line of a stream to the page ends at a carriage return, which JSON may have between its values.
  if (json === undefined || json.includes('\r')) return JSON.stringify(event);
  // A copy: a piece of a text keeps the whole text in memory.
  return Buffer.from(json).toString();
}

// A text that has one character beyond Latin takes two bytes for each.
function sizeOf(text: string): number {
  return Buffer.byteLength(text) === text.length ? text.length : 2 * text.length;
}

function firstBut(family: Family, families: ReadonlySet<Family>): Family | undefined {
  for (const one of families) if (one !== family) return one;
  return undefined;
}

import type { ServerResponse } from 'node:http';
import { PROTOCOL_VERSION, type StreamEvents } from './protocol.ts';
import type { RunStore, StoredRun, Watcher } from './store.ts';

const RUNS_AT_ONCE = 1_000;
const EVENTS_AT_ONCE = 500;
const BYTES_AT_ONCE = 256 * 1024;
// A page that reads nothing while more runs than that are let go connects anew, and is told what there is.
const GONE_LIMIT = 100_000;
/** Between two tellings; what changes meanwhile is told once. */
const PAUSE_MS = 100;

/**
 * What one page is told. Nothing waits for it: what has changed is marked, and told when the page has taken up what was told
 * before, so that a slow one misses intermediate states of the list, and needs no memory.
 */
export class Stream implements Watcher {
  readonly #store: RunStore;
  readonly #response: ServerResponse;
  readonly #watched: string | null;
  #changed: Set<StoredRun>;
  #gone: string[] = [];
  #droppedChanged = true;
  // How far the events of the watched run were told: among those of its family, and of its own.
  #seen = 0;
  #told = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #busy = false;

  /** @param watched The key of the run whose events are told. */
  constructor(store: RunStore, response: ServerResponse, watched: string | null) {
    this.#store = store;
    this.#response = response;
    this.#watched = watched;
    this.#changed = new Set(store.runs.values());
  }

  /** Tells what there is, and from then on what changes, until the page goes away. */
  async run(hello: Omit<StreamEvents['hello'], 'version'>): Promise<void> {
    const unwatch = this.#store.watch(this);
    this.#response.on('close', () => {
      unwatch();
      clearTimeout(this.#timer);
    });
    this.#busy = true;
    const runs = this.#changed.size;
    await this.#write('hello', { version: PROTOCOL_VERSION, ...hello });
    await this.#tellAll();
    await this.#write('ready', { runs });
    if (this.#watched !== null && !this.#store.runs.has(this.#watched)) {
      await this.#write('unknown', { run: this.#watched });
    }
    this.#busy = false;
    this.#wake();
  }

  changed(run: StoredRun): void {
    this.#changed.add(run);
    this.#wake();
  }

  gone(run: StoredRun): void {
    this.#changed.delete(run);
    this.#gone.push(run.key);
    if (this.#gone.length > GONE_LIMIT) this.#response.destroy();
    this.#wake();
  }

  dropped(): void {
    this.#droppedChanged = true;
    this.#wake();
  }

  #wake(): void {
    if (this.#busy || this.#timer !== undefined || !this.#hasNews) return;
    this.#timer = setTimeout(async () => {
      this.#busy = true;
      await this.#tellAll();
      this.#busy = false;
      this.#timer = undefined;
      this.#wake();
    }, PAUSE_MS);
  }

  // The events of the watched run are news of that run too.
  get #hasNews(): boolean {
    return this.#changed.size > 0 || this.#gone.length > 0 || this.#droppedChanged;
  }

  async #tellAll(): Promise<void> {
    while (this.#hasNews && !this.#response.destroyed) {
      if (this.#droppedChanged) {
        this.#droppedChanged = false;
        await this.#write('dropped', this.#store.dropped);
      }
      if (this.#gone.length > 0) await this.#write('gone', this.#gone.splice(0, RUNS_AT_ONCE));
      await this.#tellRuns();
      await this.#tellEvents();
    }
  }

  async #tellRuns(): Promise<void> {
    const runs = [...take(this.#changed, RUNS_AT_ONCE)];
    if (runs.length === 0) return;
    for (const run of runs) this.#changed.delete(run);
    const summaries = runs.map((run) => run.summary());
    await this.#write('runs', summaries);
  }

  async #tellEvents(): Promise<void> {
    const run = this.#watched === null ? undefined : this.#store.runs.get(this.#watched);
    if (run === undefined) return;
    const { events } = run.family;
    while (this.#seen < events.length && !this.#response.destroyed) {
      const from = this.#told;
      const texts: string[] = [];
      for (let bytes = 0; this.#seen < events.length && texts.length < EVENTS_AT_ONCE; ) {
        const event = events[this.#seen];
        if (event === undefined || bytes > BYTES_AT_ONCE) break;
        this.#seen += 1;
        if (!event.run.isWithin(run)) continue;
        texts.push(event.text);
        bytes += event.text.length;
      }
      this.#told += texts.length;
      if (texts.length === 0) continue;
      const head = `{"run":${JSON.stringify(run.key)},"from":${from},"events":[`;
      await this.#writeText('events', `${head}${texts.join(',')}]}`);
    }
  }

  #write<Name extends keyof StreamEvents>(name: Name, data: StreamEvents[Name]): Promise<void> {
    return this.#writeText(name, JSON.stringify(data));
  }

  async #writeText(name: keyof StreamEvents, data: string): Promise<void> {
    if (this.#response.destroyed) return;
    if (this.#response.write(`event: ${name}\ndata: ${data}\n\n`)) return;
    await new Promise<void>((resolve) => {
      const done = () => {
        this.#response.off('drain', done).off('close', done);
        resolve();
      };
      this.#response.on('drain', done).on('close', done);
    });
  }
}

function* take<T>(values: Iterable<T>, count: number): Generator<T> {
  let left = count;
  for (const value of values) {
    if (left === 0) return;
    left -= 1;
    yield value;
  }
}

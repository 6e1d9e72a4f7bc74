import { messageOf } from '../describe.ts';
import type { Address } from './address.ts';
import { type BatchHead, type Fault, PROTOCOL_VERSION, type Taken } from './protocol.ts';

const PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 10_000;
// Nothing answers later than that on one machine; a process that ends waits as long.
const TIMEOUT_MS = 2_000;
const EVENTS_AT_ONCE = 500;
const CHARACTERS_AT_ONCE = 256 * 1024;

/** Sends events in batches, in order, and each again until it was taken. */
export class Sender {
  readonly #url: string;
  readonly #token: string;
  readonly #head: Omit<BatchHead, 'first'>;
  readonly #maxBuffered: number;
  // Those that were not taken yet. Each event has a number, and these have the ones from `first` on.
  #waiting: object[] = [];
  #first = 0;
  dropped = 0;
  problem: string | null = null;
  #pause = PAUSE_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<void> | undefined;
  #closed = false;
  readonly #warned = new Set<string>();
  #triedLast = false;

  constructor({ host, port, token }: Address, name: string, maxBuffered: number) {
    this.#url = `http://${host}:${port}/ingest`;
    this.#token = token;
    this.#head = { version: PROTOCOL_VERSION, source: crypto.randomUUID(), name };
    this.#maxBuffered = maxBuffered;
  }

  push(event: object): void {
    if (this.#closed) return;
    if (this.#waiting.length === 0) awaitExit(this);
    this.#waiting.push(event);
    this.#triedLast = false;
    // Some at once, so that a full buffer costs no more than one with room.
    if (this.#waiting.length > this.#maxBuffered) this.#drop(Math.ceil(this.#maxBuffered / 10));
    this.#schedule();
  }

  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#sending;
    await this.#send();
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.flush();
    clearTimeout(this.#timer);
    forgetExit(this);
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#sending !== undefined) return;
    const timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#send();
    }, this.#pause);
    // In a browser it is a number.
    (timer as { unref?(): unknown }).unref?.();
    this.#timer = timer;
  }

  /** Sends all that waits, until something goes wrong. */
  #send(): Promise<void> {
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined;
      if (this.#waiting.length > 0 && !this.#closed) this.#schedule();
    });
    return this.#sending;
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const problem = await this.#sendBatch();
      if (problem !== null) {
        this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE_MS);
        this.problem = problem;
        return;
      }
      this.#pause = PAUSE_MS;
      this.problem = null;
    }
  }

  /** @returns Why it was not taken. */
  async #sendBatch(): Promise<string | null> {
    const from = this.#first;
    const { count, body } = this.#batch();
    const end = from + count;
    try {
      const response = await fetch(this.#url, {
        method: 'POST',
        headers: { Authorization: `Bearer ${this.#token}`, 'Content-Type': 'application/x-ndjson' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const answer = (await response.json()) as Partial<Taken & Fault>;
      if (response.ok && Number.isSafeInteger(answer.next)) {
        // What was dropped while it was on its way has come there all the same.
        this.dropped -= Math.min(this.#first, end) - from;
        this.#forget(end);
        return null;
      }
      return this.#refused(response.status, end, answer.error?.message ?? 'it gives no reason');
    } catch (error) {
      return `${this.#url} cannot be reached: ${messageOf((error as Error).cause ?? error)}`;
    }
  }

  #batch(): { readonly count: number; readonly body: string } {
    const head: BatchHead = { ...this.#head, first: this.#first };
    const lines = [JSON.stringify(head)];
    let size = 0;
    for (const event of this.#waiting) {
      const line = JSON.stringify(event);
      if (lines.length > EVENTS_AT_ONCE || (size > 0 && size + line.length > CHARACTERS_AT_ONCE)) break;
      size += line.length;
      lines.push(line);
    }
    return { count: lines.length - 1, body: lines.join('\n') };
  }

  #refused(status: number, end: number, message: string): string | null {
    const problem = `phasegate inspect refuses the events: ${message}`;
    this.#warn(problem);
    // What it does not understand now it will not understand later either.
    if (status !== 400 && status !== 413) return problem;
    this.#drop(Math.max(0, end - this.#first));
    return null;
  }

  // Some of them may have been dropped meanwhile.
  #forget(end: number): void {
    const count = Math.max(0, end - this.#first);
    this.#waiting.splice(0, count);
    this.#first += count;
    if (this.#waiting.length === 0) forgetExit(this);
  }

  #drop(count: number): void {
    this.dropped += count;
    this.#forget(this.#first + count);
  }

  // Whoever has set it up has made a mistake, and would look at an empty page.
  #warn(problem: string): void {
    if (this.#warned.has(problem)) return;
    this.#warned.add(problem);
    globalThis.process?.emitWarning?.(problem, { type: 'PhasegateWarning' });
  }

  /** The process is about to end. After each attempt Node asks again, so there is one only. */
  sendLast(): void {
    if (this.#triedLast) return;
    this.#triedLast = true;
    void this.flush();
  }
}

// Those that have events which were not taken yet. They have one listener, as Node takes many for a leak, and a sender that
// nobody holds any more is held by none.
const unsent = new Set<Sender>();

function awaitExit(sender: Sender): void {
  if (unsent.size === 0) globalThis.process?.on?.('beforeExit', sendAllLast);
  unsent.add(sender);
}

function forgetExit(sender: Sender): void {
  unsent.delete(sender);
  if (unsent.size === 0) globalThis.process?.off?.('beforeExit', sendAllLast);
}

function sendAllLast(): void {
  for (const sender of unsent) sender.sendLast();
}

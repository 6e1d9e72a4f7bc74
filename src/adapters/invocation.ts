import { RunAbortedError } from '../errors.ts';
import type { Run } from '../run.ts';

/** Somebody who reads a stream of an invocation's result. */
export interface Reader {
  /** Waits for the next piece, or until the invocation fails. */
  read<T>(next: () => PromiseLike<T>): Promise<T>;
  /** There is no next piece. */
  ended(): void;
  /** It does not want the rest. */
  left(): void;
}

/** What an invocation is made with. */
export interface InvocationOptions {
  /** With which the caller may abort it. */
  readonly callerSignal: AbortSignal | undefined;
  /** Whether the framework ends its streams by itself, in its own way, when the caller aborts. */
  readonly endsAbortedStreams: boolean;
  /** How many milliseconds nobody may be reading what was handed out. */
  readonly unreadMs: number;
}

interface Failure {
  readonly error: unknown;
  /** It was the caller who aborted. */
  readonly byCaller: boolean;
}

/**
 * One invocation of an agent: a run, and whoever waits for what comes of it. However the invocation goes, its run ends with
 * it; and what ends the run before its time is what the caller gets, at once and unwrapped.
 */
export class Invocation {
  readonly run: Run;
  readonly #options: InvocationOptions;
  readonly #waiting = new Set<(failure: Failure) => void>();
  #failure: Failure | undefined;

  // Who reads what was handed out.
  #readers = 0;
  #reading = 0;
  #unreadSince = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param run Has just been begun. */
  constructor(run: Run, options: InvocationOptions) {
    this.run = run;
    this.#options = options;
    if (run.signal.aborted) this.#aborted();
    else run.signal.addEventListener('abort', () => this.#aborted(), { once: true });
  }

  /** The invocation is over, well or not. */
  finish(): void {
    clearTimeout(this.#timer);
    this.run.finish();
  }

  /** Whoever waits for the invocation gets this error, and so does whoever asks later. */
  fail(error: unknown): void {
    if (this.#failure !== undefined) return;
    const { callerSignal } = this.#options;
    const byCaller = callerSignal?.aborted === true && callerSignal.reason === this.run.signal.reason;
    const failure = { error, byCaller };
    this.#failure = failure;
    clearTimeout(this.#timer);
    for (const tell of this.#waiting) tell(failure);
  }

  /** Waits for what the agent promises, or until the invocation fails. */
  async settle<T>(promised: PromiseLike<T>): Promise<T> {
    return await this.#race(promised, false);
  }

  /**
   * A stream has been handed out. The run ends when the first reader comes to the end, and when the last one breaks off
   * before it.
   */
  openReader(): Reader {
    this.#readers += 1;
    this.watch();
    let open = true;
    const close = (then: () => void) => {
      if (!open) return;
      open = false;
      this.#readers -= 1;
      then();
    };
    return {
      read: (next) => this.#read(next),
      ended: () => close(() => this.finish()),
      left: () =>
        close(() => {
          if (this.#readers === 0) this.#abandon('its stream was broken off by its reader');
        }),
    };
  }

  /** From now on somebody has to read what was handed out, or the run is aborted. */
  watch(): void {
    const { unreadMs } = this.#options;
    if (this.#timer !== undefined || unreadMs === Number.POSITIVE_INFINITY) return;
    this.#unreadSince = Date.now();
    this.#startTimer(unreadMs);
  }

  async #read<T>(next: () => PromiseLike<T>): Promise<T> {
    this.#reading += 1;
    try {
      // What is made as it is read, such as by a generator, is made inside of the run.
      return await this.#race(this.run.inside(next), true);
    } finally {
      this.#reading -= 1;
      this.#unreadSince = Date.now();
    }
  }

  #race<T>(promised: PromiseLike<T>, streaming: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      const onFailure = ({ error, byCaller }: Failure) => {
        if (!(streaming && byCaller && this.#options.endsAbortedStreams)) reject(error);
      };
      const settled = () => this.#waiting.delete(onFailure);
      if (this.#failure === undefined) this.#waiting.add(onFailure);
      else onFailure(this.#failure);
      promised.then(
        (value) => {
          settled();
          resolve(value);
        },
        (error) => {
          settled();
          reject(error);
        },
      );
    });
  }

  #startTimer(ms: number): void {
    this.#timer = setTimeout(() => {
      if (this.run.state.finished) return;
      const { unreadMs } = this.#options;
      const left = this.#reading > 0 ? unreadMs : this.#unreadSince + unreadMs - Date.now();
      if (left > 0) this.#startTimer(left);
      else this.#abandon(`its stream was not read for ${unreadMs} ms`);
    }, ms);
    // A stream that nobody reads is no reason for a process to live on.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #abandon(reason: string): void {
    clearTimeout(this.#timer);
    // The kind of error by which frameworks know an abort from a fault.
    this.run.abort(new DOMException(`The run was aborted: ${reason}`, 'AbortError'));
  }

  #aborted(): void {
    const { run } = this;
    // The refusal that it ended with is on its way to whoever made the call, who tells of it.
    if (endedByPolicy(run)) return;
    const why: unknown = run.signal.reason;
    const reason = run.state.reason ?? '';
    this.fail(why instanceof Error ? why : new RunAbortedError('run-aborted', run.id, reason, why));
  }
}

/** Whether `onBudgetExhausted` or `onRejected` ended the run (SPEC §6.5). */
export function endedByPolicy(run: Run): boolean {
  const { phase } = run.state;
  return phase === 'EXHAUSTED' || phase === 'REJECTED';
}

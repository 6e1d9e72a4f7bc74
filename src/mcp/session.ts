import type { Invocation } from '../adapters/index.ts';
import type { Run } from '../run.ts';

/** What a server is connected by, as far as it is looked at. */
export interface Transport {
  onclose?: (() => void) | undefined;
}

/** What a session is made with. */
export interface SessionOptions {
  /** Whose it is. */
  readonly owner: string;
  /** The connection that it ends with, if there is one. */
  readonly transport: Transport | undefined;
  readonly idleMs: number;
  /** Is called when there was no call for so long. */
  readonly onIdle: () => void;
}

/** The run of a session. */
export class Session {
  readonly #invocation: Invocation;
  readonly #options: SessionOptions;
  #working = 0;
  #closed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(invocation: Invocation, options: SessionOptions) {
    this.#invocation = invocation;
    this.#options = options;
  }

  get owner(): string {
    return this.#options.owner;
  }

  get transport(): Transport | undefined {
    return this.#options.transport;
  }

  get run(): Run {
    return this.#invocation.run;
  }

  get idle(): boolean {
    return this.#working === 0;
  }

  /** Waits for a call, or until the run is aborted: a body may not stop. */
  async during<T>(call: () => Promise<T>): Promise<T> {
    this.#working += 1;
    clearTimeout(this.#timer);
    try {
      // Of a run that has ended, the call is refused, and says why.
      return await (this.run.state.finished ? call() : this.#invocation.settle(call()));
    } finally {
      this.#working -= 1;
      if (this.idle) this.#startTimer();
    }
  }

  /** Whether its connection was closed. */
  get closed(): boolean {
    return this.#closed;
  }

  /** Its connection was closed. Bodies that are at work are told to stop, and whoever waits for them gets the reason. */
  close(reason: string): void {
    this.#closed = true;
    if (this.idle) this.#invocation.finish();
    else this.run.abort(reason);
  }

  /** Nobody is to find it any more; it is idle. */
  forget(): void {
    clearTimeout(this.#timer);
    this.#invocation.finish();
  }

  #startTimer(): void {
    const { idleMs, onIdle } = this.#options;
    if (idleMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(onIdle, idleMs);
    // A session that does nothing is no reason for a process to live on.
    (this.#timer as { unref?: () => void }).unref?.();
  }
}

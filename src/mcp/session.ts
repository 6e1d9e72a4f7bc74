import type { Invocation } from '../adapters/index.ts';
import type { Run } from '../run.ts';

/** What a server is connected by, as far as it is looked at. */
export interface Transport {
  onclose?: (() => void) | undefined;
}

/** The run of a session. */
export class Session {
  /** The connection that it ends with, if there is one. */
  readonly transport: Transport | undefined;
  readonly #invocation: Invocation;
  readonly #idleMs: number;
  readonly #onIdle: () => void;
  #working = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param onIdle Is called when there was no call for so long. */
  constructor(invocation: Invocation, transport: Transport | undefined, idleMs: number, onIdle: () => void) {
    this.#invocation = invocation;
    this.transport = transport;
    this.#idleMs = idleMs;
    this.#onIdle = onIdle;
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

  /** Ends the run. Bodies that are at work are told to stop, and whoever waits for them gets the reason. */
  close(reason: string): void {
    if (this.idle) this.#invocation.finish();
    else this.run.abort(reason);
  }

  /** Nobody is to find it any more. */
  forget(): void {
    clearTimeout(this.#timer);
  }

  #startTimer(): void {
    if (this.#idleMs === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(this.#onIdle, this.#idleMs);
    // A session that does nothing is no reason for a process to live on.
    (this.#timer as { unref?: () => void }).unref?.();
  }
}

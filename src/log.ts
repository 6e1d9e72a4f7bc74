import type { RefusalCode } from './decide.ts';
import type { Stage } from './errors.ts';
import type { Phase } from './phases.ts';

/** One decision of a run, in its log. */
export interface LogEntry {
  /** When, in milliseconds since 1970. */
  readonly time: number;
  /** `null` for an explicit proposal. */
  readonly tool: string | null;
  readonly callId: string | null;
  /** The id of the call that made this one; `null` for a top-level call. */
  readonly parent: string | null;
  readonly allowed: boolean;
  readonly code: RefusalCode | (string & {}) | null;
  readonly message: string | null;
  /** Who refused; `null` when no one did. */
  readonly stage: Stage | null;
  readonly phaseBefore: Phase;
  readonly phaseAfter: Phase;
  /** The phases that were passed, both ends included; a refusal passes none. */
  readonly path: readonly Phase[];
  /** The counters after the decision. */
  readonly stepCount: number;
  readonly loopCount: number;
  readonly inFlight: number;
}

/** What stands in the log until someone reads it: making the entry then keeps it off the path of a call. */
export interface Recorded {
  toLogEntry(): LogEntry;
}

/** The latest decisions of a run, and how many older ones it let go. */
export class RunLog {
  readonly #limit: number;
  #records: Recorded[] = [];
  #count = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get entries(): readonly LogEntry[] {
    return this.#latest().map((record) => record.toLogEntry());
  }

  get dropped(): number {
    return Math.max(0, this.#count - this.#limit);
  }

  record(entry: Recorded): void {
    this.#count += 1;
    this.#records.push(entry);
    // Let go in batches, so that a long run pays for it once in `limit` decisions.
    if (this.#records.length >= 2 * this.#limit) this.#records = this.#latest();
  }

  #latest(): Recorded[] {
    return this.#limit === 0 ? [] : this.#records.slice(-this.#limit);
  }
}

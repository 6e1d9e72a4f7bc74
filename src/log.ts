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
  /** The decision that came next. */
  newer: Recorded | undefined;
  toLogEntry(): LogEntry;
}

/**
 * The latest decisions of a run, and how many older ones it let go. A run is one itself: with a million of them live, an
 * object and an array more for each would take as much as the run.
 */
export abstract class RunLog {
  #oldest: Recorded | undefined;
  #newest: Recorded | undefined;
  #recorded = 0;

  /** How many decisions are kept. */
  protected abstract get logLimit(): number;

  get log(): readonly LogEntry[] {
    const entries: LogEntry[] = [];
    for (let one = this.#oldest; one !== undefined; one = one.newer) entries.push(one.toLogEntry());
    return entries;
  }

  get logDropped(): number {
    return Math.max(0, this.#recorded - this.logLimit);
  }

  protected record(decision: Recorded): void {
    const limit = this.logLimit;
    this.#recorded += 1;
    if (limit === 0) return;
    if (this.#newest === undefined) this.#oldest = decision;
    else this.#newest.newer = decision;
    this.#newest = decision;
    if (this.#recorded <= limit) return;
    const dropped = this.#oldest;
    this.#oldest = dropped?.newer;
    // Whoever still holds the old decision is not to hold all that came after it.
    if (dropped !== undefined) dropped.newer = undefined;
  }
}

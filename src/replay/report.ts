import type { PathSegment } from './phase-path.ts';

/** What a replay says of an outermost run, together with its child runs. */
export interface RunReport {
  /** The file, as it was named. */
  readonly file: string;
  /** Which outermost run of the file it is, from 0, in the order in which they begin. */
  readonly index: number;
  /** What the recording calls the run. */
  readonly run: string;
  /** Calls in the recording: asked for in the run and its child runs. */
  readonly calls: number;
  /** Those of them that failed, as the recording has it. */
  readonly failed: number;
  /** `allowed`, or the code of the first refusal (SPEC §3.3). */
  readonly verdict: string;
  readonly firstRefusal: Refusal | null;
  /** How many calls were refused: more than 1 only with `all`. */
  readonly refused: number;
  /** The steps of the run, at the first refusal or, with `all`, at the end. */
  readonly stepCount: number;
  /** What the budgets are chosen by. */
  readonly figures: RunFigures;
}

/** A call of a recorded run that would have been refused. */
export interface Refusal {
  /** Which call of the recorded run it is, from 1. */
  readonly seq: number;
  readonly tool: string;
  /** The id of the call as it was recorded, if it was. */
  readonly callId: string | null;
  readonly code: string;
  readonly message: string;
  /** The file that says it, and the line, from 1. */
  readonly file: string;
  readonly line: number | null;
  /** The phases that its run, which may be a child run, had passed until then. */
  readonly path: readonly PathSegment[];
}

/**
 * What a run asks of budgets. Only what was replayed is counted in `steps` and `loops`, so that they say the least
 * budgets under which the run goes through when it was replayed without any.
 */
export interface RunFigures {
  /** Most calls that had ended well or were under way, at any moment. */
  readonly steps: number;
  /** Most self-loops in a visit to ACTING. */
  readonly loops: number;
  /** Most failed calls in a row of one run. */
  readonly failuresInARow: number;
  /** Most calls from inside the body of one call. */
  readonly nested: number;
  /** Most levels of child runs. */
  readonly depth: number;
}

/** A file, or a part of one, that cannot be read as recorded runs. */
export interface FileFault {
  readonly file: string;
  /** From 1; `null` where it is the file as a whole. */
  readonly line: number | null;
  readonly message: string;
}

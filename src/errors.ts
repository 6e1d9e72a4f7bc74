import type { RefusalCode } from './decide.ts';
import { describe } from './describe.ts';
import { hintFor } from './hints.ts';
import type { ValidationResult } from './monitor.ts';
import type { Phase } from './phases.ts';

/**
 * What every error of the package is: a message that says what was expected, what came and what to do, and a
 * `code` that stays the same from version to version.
 */
export class PhasegateError extends Error {
  /** Stable name of the fault, such as `invalid-budget`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
}

/**
 * A run that was aborted with a reason that is no error; `withRun` rejects with it. The reason is its `cause`.
 * `code` is `run-aborted`, or `run-timeout` when the run reached its deadline (SPEC §6.2, §6.3).
 */
export class RunAbortedError extends PhasegateError {
  /** The run that ended. */
  readonly runId: string;
  /** Why, in words: what later refusals of the run say too. */
  readonly reason: string;

  constructor(code: 'run-aborted' | 'run-timeout', runId: string, reason: string, cause?: unknown) {
    const what = code === 'run-timeout' ? 'reached its deadline' : 'was aborted';
    super(code, `Run ${runId} ${what}: ${reason}`, cause === undefined ? undefined : { cause });
    this.runId = runId;
    this.reason = reason;
  }
}

/**
 * What is wrong with a saved run: it is none (`shape`), of another version of the format, of another table or other budgets
 * (`rules`), as no run can have been (`state`), not signed with the key that was given (`signature`), or without the parent run
 * that it is a child of (`parent`).
 */
export type Difference = 'shape' | 'version' | 'signature' | 'rules' | 'state' | 'parent';

const REMEDIES: Readonly<Record<Difference, string>> = {
  shape: 'Give resumeRun what run.save() returned, whole and unchanged; JSON.parse a text first',
  version: 'Resume it with the version of phasegate that saved it',
  signature:
    'Give the key that signed it. If you did, it was changed, or signed by someone else: find out who wrote it',
  rules: 'Resume it with a supervisor of the table, budgets and policies under which it was saved',
  state: 'It was changed after it was saved: take one that was not',
  parent:
    'Resume its parent run first, from what was saved at the same moment, and give that, or a call of it, as parent',
};

/** A saved run that was not resumed, as something in it is not what it must be; `code` is `saved-run-refused` (SPEC §11.1). */
export class SavedRunError extends PhasegateError {
  /** What kind of thing is not as it must be. */
  readonly differs: Difference;
  /** Which member of the saved run, as in `state.stepCount`. */
  readonly path: string;

  constructor(differs: Difference, path: string, why: string) {
    super('saved-run-refused', `This saved run cannot be resumed: ${why}. ${REMEDIES[differs]}`);
    this.differs = differs;
    this.path = path;
  }
}

/** Where a refusal was made: by the run itself, by the phase machine, or by the monitor check of that name. */
export type Stage = 'enforcement' | 'dfa' | (string & {});

/** What a {@link ToolExecutionBlocked} carries (SPEC §8.2). */
export interface BlockedDetails {
  readonly tool: string;
  readonly callId: string | null;
  readonly runId: string | null;
  readonly stage: Stage;
  readonly code: RefusalCode | (string & {});
  readonly result: ValidationResult | null;
  readonly phase: Phase | null;
  readonly stepCount: number;
}

// Two copies of the package (ESM and CJS, or two versions) know each other's refusals by this.
const BRAND = Symbol.for('phasegate.ToolExecutionBlocked');

/**
 * A tool call that was refused: its body has not started and never will (SPEC §8.2).
 *
 * @example
 * try {
 *   await run.callTool('search', { q: 'x' }, search);
 * } catch (error) {
 *   const blocked = findToolExecutionBlocked(error);
 *   if (blocked === undefined) throw error;
 *   return `${blocked.message}. ${blocked.hint}`;
 * }
 */
export class ToolExecutionBlocked extends PhasegateError implements BlockedDetails {
  /** The tool that was asked for. */
  readonly tool: string;
  /** The id of the call: the caller's own, or the one that the run gave it; `null` when no run was active. */
  readonly callId: string | null;
  /** The run that refused; `null` when no run was active. */
  readonly runId: string | null;
  /** Who refused: `enforcement`, `dfa`, or the name of a monitor check. */
  readonly stage: Stage;
  /** Why, as a stable code (SPEC §3.3), or a code of a check's own. */
  declare readonly code: RefusalCode | (string & {});
  /** What the monitor answered; `null` where no monitor check ran. */
  readonly result: ValidationResult | null;
  /** The phase of the run when it refused; `null` when no run was active. */
  readonly phase: Phase | null;
  /** Calls of the run that had ended well when it refused. */
  readonly stepCount: number;

  constructor(message: string, details: BlockedDetails) {
    super(details.code, message);
    this.tool = details.tool;
    this.callId = details.callId;
    this.runId = details.runId;
    this.stage = details.stage;
    this.result = details.result;
    this.phase = details.phase;
    this.stepCount = details.stepCount;
  }

  get [BRAND](): true {
    return true;
  }

  /** What is legal instead, worded for a model to read. */
  get hint(): string {
    return hintFor(this.code);
  }
}

/** The refusal of a call that is of no run; `why` is said behind that, where it is known. */
export function noActiveRun(tool: string, why?: string): ToolExecutionBlocked {
  const reason = why === undefined ? '' : `: ${why}`;
  return new ToolExecutionBlocked(`Cannot call ${tool}: no agent run is active${reason}`, {
    tool,
    callId: null,
    runId: null,
    stage: 'enforcement',
    code: 'no-active-run',
    result: null,
    phase: null,
    stepCount: 0,
  });
}

const MOST_WRAPPERS = 1000;

/**
 * Finds the refusal in an error: the error itself, or one inside its `cause`, `error`, `errors` or `suppressed`,
 * as frameworks wrap them; made by this copy of the package or by another.
 *
 * @param error Anything that was caught.
 * @returns The refusal, or `undefined` when there is none.
 */
export function findToolExecutionBlocked(error: unknown): ToolExecutionBlocked | undefined {
  const seen = new Set<unknown>();
  const queue: unknown[] = [error];
  // What is inside of what may have no end, where a getter makes it; the members of an array have one.
  let depthLeft = MOST_WRAPPERS;
  for (const candidate of queue) {
    if (typeof candidate !== 'object' || candidate === null || seen.has(candidate)) continue;
    seen.add(candidate);
    try {
      if ((candidate as Record<symbol, unknown>)[BRAND] === true) return candidate as ToolExecutionBlocked;
      if (depthLeft === 0) continue;
      const { cause, error: inner, errors, suppressed } = candidate as Record<string, unknown>;
      for (const wrapped of [cause, inner, suppressed]) {
        if (typeof wrapped !== 'object' || wrapped === null) continue;
        depthLeft = Math.max(0, depthLeft - 1);
        queue.push(wrapped);
      }
      if (Array.isArray(errors)) for (const one of errors) queue.push(one);
    } catch {
      // A getter or proxy of the caught value threw: what it hides cannot be a refusal of ours.
    }
  }
  return undefined;
}

/**
 * Whether a caught error is a refusal of a tool call, or wraps one (see {@link findToolExecutionBlocked}, which
 * also hands out a wrapped one).
 *
 * @example
 * if (isToolExecutionBlocked(error)) console.log(findToolExecutionBlocked(error)?.hint);
 */
export function isToolExecutionBlocked(error: unknown): boolean {
  return findToolExecutionBlocked(error) !== undefined;
}

/** The error for an argument that cannot be used: what was expected, and what came. */
export function invalidArgument(name: string, expected: string, got: unknown): PhasegateError {
  return new PhasegateError('invalid-argument', `${name} must be ${expected}, got ${describe(got)}`);
}

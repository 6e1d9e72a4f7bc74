import type { Config } from '../config.ts';
import { isCount } from '../decide.ts';
import { createEnforcement, type Enforcement } from '../enforcement.ts';
import { invalidArgument } from '../errors.ts';
import type { RunOptions } from '../run.ts';
import { checkTimeout } from '../supervised-run.ts';

/** How an adapter shows refusals, and how its runs are begun. */
export interface GateOptions extends Pick<RunOptions, 'timeoutMs' | 'budget' | 'maxDepth'> {
  /**
   * What a refusal leads to. `'message'`: the model reads the reason and what is legal instead, in the framework's own form
   * of a tool error. `'abort'`: the run is aborted, and the caller gets the `ToolExecutionBlocked`.
   * @default 'message'
   */
  readonly onBlocked?: 'message' | 'abort' | undefined;
  /**
   * How many refusals in a row the model is shown before the next is an abort after all, so that a model that keeps asking
   * cannot spin: a whole number of 0 or more, or `Infinity`. The refusals of one turn of the model, which it asked for
   * without having read any of them, are one, where the framework tells turns apart. A call that is admitted ends the row.
   * @default 3
   */
  readonly maxBlocked?: number | undefined;
  /**
   * Milliseconds for which nobody may be reading a stream, or what else is made of its result, before its run is aborted: 1 to
   * 2147483647, or `Infinity`. A stream that waits for a tool or the model is being read.
   * @default 300000
   */
  readonly unreadMs?: number | undefined;
}

/** What the runs of one invocation of `supervise` share, checked. */
export interface Settings {
  readonly onBlocked: 'message' | 'abort';
  readonly maxBlocked: number;
  readonly unreadMs: number;
  readonly run: Pick<RunOptions, 'timeoutMs' | 'budget' | 'maxDepth'>;
}

/**
 * Checks the options of an adapter.
 *
 * @throws {PhasegateError} `invalid-argument`.
 */
export function readSettings(options: GateOptions): Settings {
  if (typeof options !== 'object' || options === null)
    throw invalidArgument('The options', 'an object', options);
  const { onBlocked = 'message', maxBlocked = 3, unreadMs = 300_000 } = options;
  if (onBlocked !== 'message' && onBlocked !== 'abort') {
    throw invalidArgument('onBlocked', "'message' or 'abort'", onBlocked);
  }
  if (!isCount(maxBlocked)) {
    throw invalidArgument('maxBlocked', 'a whole number of 0 or more, or Infinity', maxBlocked);
  }
  checkTimeout('unreadMs', unreadMs);
  if (options.timeoutMs !== undefined) checkTimeout('timeoutMs', options.timeoutMs);
  const { timeoutMs, budget, maxDepth } = options;
  return { onBlocked, maxBlocked, unreadMs, run: { timeoutMs, budget, maxDepth } };
}

/**
 * The enforcement that an adapter was given, or one made of the configuration that it was given.
 *
 * @throws {ConfigError} when what was given is no enforcement, and has faults as a configuration.
 */
export function enforcementOf(given: Enforcement | Config): Enforcement {
  return isEnforcement(given) ? given : createEnforcement({ config: given });
}

function isEnforcement(given: Enforcement | Config): given is Enforcement {
  const { beginRun, tool, currentRun } = (given ?? {}) as Partial<Enforcement>;
  return [beginRun, tool, currentRun].every((member) => typeof member === 'function');
}

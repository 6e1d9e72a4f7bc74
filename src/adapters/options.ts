import type { Config } from '../config.ts';
import { isCount } from '../decide.ts';
import { createEnforcement, type Enforcement } from '../enforcement.ts';
import { invalidArgument } from '../errors.ts';
import { checkOptions } from '../options.ts';
import type { RunOptions } from '../run.ts';
import { checkRunOptions, checkTimeout } from '../run-options.ts';
import type { Supervisor } from '../supervisor.ts';

/** How the runs of an agent are begun. */
export interface AgentOptions extends Pick<RunOptions, 'timeoutMs' | 'budget' | 'maxDepth'> {}

/** How an adapter shows refusals, and how all of its runs are begun. */
export interface GateOptions extends AgentOptions {
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
  readonly run: AgentOptions;
}

const OPTIONS = [
  'onBlocked',
  'maxBlocked',
  'unreadMs',
  'timeoutMs',
  'budget',
  'maxDepth',
] as const satisfies readonly (keyof GateOptions)[];

/**
 * Checks the options of an adapter.
 *
 * @param further The names of those that only this adapter has.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function readSettings(options: GateOptions, further: readonly string[] = []): Settings {
  checkOptions('supervise', options, [...OPTIONS, ...further]);
  const { onBlocked = 'message', maxBlocked = 3, unreadMs = 300_000 } = options;
  if (onBlocked !== 'message' && onBlocked !== 'abort') {
    throw invalidArgument('onBlocked', "'message' or 'abort'", onBlocked);
  }
  if (!isCount(maxBlocked)) {
    throw invalidArgument('maxBlocked', 'a whole number of 0 or more, or Infinity', maxBlocked);
  }
  checkTimeout('unreadMs', unreadMs);
  // Of the runs too, so that a slip is told where it was made.
  const { timeoutMs, budget, maxDepth } = options;
  const run = { timeoutMs, budget, maxDepth };
  checkRunOptions(run);
  return { onBlocked, maxBlocked, unreadMs, run };
}

/** What an adapter supervises with. */
export type Supervising = Enforcement | Supervisor | Config;

/**
 * The enforcement that an adapter was given, or one made of the supervisor or the configuration that it was given.
 *
 * @throws {ConfigError} when what was given is none of them, or has faults as a configuration.
 */
export function enforcementOf(given: Supervising): Enforcement {
  if (isEnforcement(given)) return given;
  return createEnforcement(isSupervisor(given) ? { supervisor: given } : { config: given });
}

function isEnforcement(given: Supervising): given is Enforcement {
  const { beginRun, tool, currentRun } = (given ?? {}) as Partial<Enforcement>;
  return [beginRun, tool, currentRun].every((member) => typeof member === 'function');
}

function isSupervisor(given: Supervising): given is Supervisor {
  return typeof (given as Supervisor | null)?.rules?.table?.pathToActing === 'function';
}

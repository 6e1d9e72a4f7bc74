import { isCount } from './decide.ts';
import { invalidArgument } from './errors.ts';
import { checkOptions } from './options.ts';
import type { RunOptions } from './run.ts';

const MAX_TIMEOUT = 2 ** 31 - 1;

const OPTIONS = [
  'id',
  'timeoutMs',
  'signal',
  'budget',
  'maxDepth',
  'parent',
] as const satisfies readonly (keyof RunOptions)[];

/**
 * Checks how a run is to be begun, but for the call that it is begun in: see `nesting.ts`.
 *
 * @throws {PhasegateError} `invalid-argument`.
 */
export function checkRunOptions(options: RunOptions): void {
  checkOptions('a run', options, OPTIONS);
  const { id, timeoutMs, signal, budget, maxDepth } = options;
  if (id !== undefined && typeof id !== 'string') throw invalidArgument('id', 'a string', id);
  if (signal !== undefined && !isSignal(signal)) throw invalidArgument('signal', 'an AbortSignal', signal);
  if (timeoutMs !== undefined) checkTimeout('timeoutMs', timeoutMs);
  if (budget !== undefined && budget !== 'shared' && budget !== 'own') {
    throw invalidArgument('budget', "'shared' or 'own'", budget);
  }
  if (maxDepth !== undefined && !isCount(maxDepth)) {
    throw invalidArgument('maxDepth', 'a whole number of 0 or more, or Infinity', maxDepth);
  }
}

/**
 * Checks a number of milliseconds that a timer is to take.
 *
 * @throws {PhasegateError} `invalid-argument`: a longer time than a timer can take would be over at once.
 */
export function checkTimeout(name: string, ms: number): void {
  if (ms === Number.POSITIVE_INFINITY) return;
  if (!(typeof ms === 'number' && ms >= 1 && ms <= MAX_TIMEOUT)) {
    throw invalidArgument(name, `milliseconds from 1 to ${MAX_TIMEOUT}, or Infinity`, ms);
  }
}

function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener, removeEventListener } = value as AbortSignal;
  return [typeof aborted, typeof addEventListener, typeof removeEventListener].join() === SIGNAL;
}

const SIGNAL = 'boolean,function,function';

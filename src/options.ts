import { describe } from './describe.ts';
import { invalidArgument, PhasegateError } from './errors.ts';

/**
 * Checks that options are a plain object, and that it has none that nobody knows: a slip in the name of a budget, or a promise in
 * place of what it resolves to, would leave the tools with the default.
 *
 * @param what Whose options they are, as in `a run`.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function checkOptions(what: string, options: unknown, known: readonly string[]): void {
  if (!isPlainObject(options)) {
    throw invalidArgument(`The options of ${what}`, `an object with ${known.join(', ')}`, options);
  }
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return;
  throw new PhasegateError(
    'invalid-argument',
    `There is no option ${describe(unknown)} of ${what}; there are: ${known.join(', ')}`,
  );
}

/** Whether a value is an object as `{}` makes one, in this realm or another: no promise, no map, nothing of a class. */
function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

import { InvalidArgumentError } from 'commander';

/** A budget as it is written on the command line. */
export function parseBudget(text: string): number {
  if (text === 'Infinity') return Number.POSITIVE_INFINITY;
  return parseWhole(text, 'a whole number of 0 or more, or Infinity');
}

/** Budgets with commas between them. */
export function parseLadder(text: string): readonly number[] {
  return text
    .split(',')
    .map((part) => parseWhole(part.trim(), 'whole numbers of 0 or more with commas between them'));
}

function parseWhole(text: string, expected: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new InvalidArgumentError(`Expected ${expected}.`);
}

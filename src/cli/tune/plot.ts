import { figure } from '../text.ts';

/** A row of a plot. */
export interface Bar {
  readonly label: string;
  readonly value: number;
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/**
 * Draws bars, one a line, each with its number.
 *
 * @param width Characters of a line.
 */
export function drawBars(bars: readonly Bar[], width: number): string[] {
  const labels = Math.max(...bars.map(({ label }) => label.length));
  const numbers = Math.max(...bars.map(({ value }) => figure(value).length));
  const room = Math.max(8, width - labels - numbers - 6);
  const greatest = Math.max(...bars.map(({ value }) => value), 1);
  return bars.map(({ label, value }) => {
    const eighths = Math.round((8 * room * value) / greatest);
    // What is there is seen, however small it is beside the rest.
    const cells = '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
    const bar = cells === '' && value > 0 ? '▏' : cells;
    return `  ${label.padStart(labels)}  ${figure(value, numbers)}  ${bar}`.trimEnd();
  });
}

// As long as there are no more numbers than this, each has a bar of its own.
const SINGLE = 12;

/**
 * Counts numbers by ranges: each number for itself where they are small, else 0, 1, 2–3, 4–7 and so on, as most runs are
 * short and a few are very long.
 *
 * @param counts Whole numbers of 0 or more, and how often each came up.
 */
export function ranges(counts: readonly (readonly [value: number, count: number])[]): Bar[] {
  const greatest = Math.max(...counts.map(([value]) => value), 0);
  const bars: Bar[] = [];
  for (let from = 0, to = 0; from <= greatest; from = to + 1) {
    to = greatest < SINGLE || from === 0 ? from : 2 * from - 1;
    const value = counts.reduce((sum, [at, count]) => sum + (at >= from && at <= to ? count : 0), 0);
    bars.push({ label: from === to ? String(from) : `${from}–${to}`, value });
  }
  return bars;
}

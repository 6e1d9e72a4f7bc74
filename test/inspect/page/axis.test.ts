import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { axisTime, ticksOf } from '../../../src/inspect/page/axis.ts';
import '../../seed.ts';

const NOW = Date.UTC(2026, 11, 1);
const HOUR = 3_600_000;

function wordsOf(from: number, to: number): readonly string[] {
  const ticks = ticksOf({ from: NOW + from, to: NOW + to }, NOW, false);
  return ticks.map((tick) => axisTime(tick, (ticks[1] ?? 0) - (ticks[0] ?? 0)));
}

describe('the axis of the timeline', () => {
  it.each([
    [0, 50, '0 ms 10 ms 20 ms 30 ms 40 ms'],
    [0, 5_000, '0 s 1 s 2 s 3 s 4 s'],
    [0, 8 * 60_000, '0 s 2:00 4:00 6:00'],
    [HOUR, HOUR + 4_000, '1:00:00 1:00:01 1:00:02 1:00:03'],
    [0, 72 * HOUR, '0 s 12:00:00 24:00:00 36:00:00 48:00:00 60:00:00'],
    [500, 500.1, '500 ms 500.02 ms 500.04 ms 500.06 ms 500.08 ms'],
  ])('from %d to %d ms says what a clock would', (from, to, words) => {
    expect(wordsOf(from, to).join(' ')).toBe(words);
  });

  it('counts by tens where there are no times', () => {
    expect(ticksOf({ from: 0, to: 100_000 }, 0, true)).toEqual([0, 20_000, 40_000, 60_000, 80_000]);
  });

  it('says no two ticks alike, however far it is zoomed', () => {
    const span = fc.tuple(
      fc.integer({ min: 0, max: 72 * HOUR }),
      fc.double({ min: -1, max: Math.log10(72 * HOUR), noNaN: true }),
    );
    fc.assert(
      fc.property(span, ([from, length]) => {
        const words = wordsOf(from, from + 10 ** length);
        expect(new Set(words).size).toBe(words.length);
        expect(words.length).toBeLessThan(12);
      }),
    );
  });
});

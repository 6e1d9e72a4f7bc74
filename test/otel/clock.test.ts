import { afterEach, expect, test, vi } from 'vitest';
import { Clock } from '../../src/otel/clock.ts';

// What a number of this size can tell apart is a quarter of a microsecond.
const TICK = 0.000_9;

/** Clocks that stand still until they are moved. */
function clocks() {
  let wall = 1_800_000_000_000;
  let monotonic = 5000;
  vi.spyOn(Date, 'now').mockImplementation(() => Math.floor(wall));
  vi.spyOn(performance, 'now').mockImplementation(() => monotonic);
  return {
    pass(ms: number) {
      wall += ms;
      monotonic += ms;
    },
    setWall(ms: number) {
      wall += ms;
    },
    wall: () => wall,
  };
}

afterEach(() => vi.restoreAllMocks());

test('Times are never the same twice, and stay within the millisecond that it is', () => {
  const { wall } = clocks();
  const clock = new Clock();
  const times = Array.from({ length: 100 }, () => clock.now());
  for (const [index, time] of times.entries()) {
    expect(Math.floor(time)).toBe(wall());
    if (index > 0) expect(time - (times[index - 1] ?? 0)).toBeGreaterThan(TICK);
  }
});

test('What passes within a millisecond is told', () => {
  const { pass } = clocks();
  const clock = new Clock();
  const begin = clock.now();
  pass(0.25);
  expect(clock.now() - begin).toBeCloseTo(0.25, 3);
});

test('After a machine has slept it is the time of day again', () => {
  const { setWall, wall } = clocks();
  const clock = new Clock();
  clock.now();
  setWall(3_600_000);
  expect(Math.floor(clock.now())).toBe(wall());
});

test('After the time of day was set back it is that time', () => {
  const { setWall, wall } = clocks();
  const clock = new Clock();
  clock.now();
  setWall(-3_600_000);
  expect(Math.floor(clock.now())).toBe(wall());
});

test('By the real clocks it is now, in order', () => {
  const clock = new Clock();
  let last = 0;
  for (let i = 0; i < 1000; i++) {
    const before = Date.now();
    const time = clock.now();
    expect(time).toBeGreaterThan(last);
    expect(time).toBeGreaterThanOrEqual(before - 1);
    // A thousand steps within one millisecond lead into the next.
    expect(time).toBeLessThanOrEqual(Date.now() + 2);
    last = time;
  }
});

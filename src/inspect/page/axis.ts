/** A span of time that the lanes of the timeline show, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// Beyond seconds, time is not divided by ten.
const CLOCK_STEPS = [
  ...[15_000, 30_000],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12, 24].map((hours) => hours * HOUR),
];
const ABOUT = 6;

/**
 * Where the axis of a span has its ticks, in milliseconds since the begin of the run: about six, at round steps.
 *
 * @param inOrder Whether the run tells no times, but only what came after what.
 */
export function ticksOf({ from, to }: Span, begin: number, inOrder: boolean): readonly number[] {
  const rough = (to - from) / ABOUT;
  const step =
    inOrder || rough <= 10_000
      ? roundUp(rough)
      : (CLOCK_STEPS.find((one) => one >= rough) ?? DAY * roundUp(rough / DAY));
  const first = Math.ceil((from - begin) / step);
  // None at the very end, where its words would be cut.
  const last = Math.floor((to - (to - from) * 0.12 - begin) / step);
  return Array.from(
    { length: Math.max(0, Math.min(last - first + 1, 4 * ABOUT)) },
    (_, tick) => (first + tick) * step,
  );
}

/** To 1, 2 or 5 times a power of ten. */
function roundUp(rough: number): number {
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
}

/**
 * A time since the begin of a run, as its axis says it.
 *
 * @param step Milliseconds from one such time to the next: it is told as exactly as that takes.
 */
export function axisTime(ms: number, step: number): string {
  if (ms < 1_000 && step < 1_000) return `${Number(ms.toFixed(digitsFor(step)))} ms`;
  const digits = digitsFor(step / 1_000);
  if (ms < MINUTE) return `${(ms / 1_000).toFixed(digits)} s`;
  const seconds = ((ms % MINUTE) / 1_000).toFixed(digits).padStart(digits === 0 ? 2 : 3 + digits, '0');
  const minutes = Math.floor(ms / MINUTE);
  if (ms < HOUR) return `${minutes}:${seconds}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${seconds}`;
}

function digitsFor(step: number): number {
  return Math.max(0, Math.min(6, -Math.floor(Math.log10(step))));
}

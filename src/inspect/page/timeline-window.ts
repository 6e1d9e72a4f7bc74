import { computed, effect, signal } from '@preact/signals';
import { chosen } from './chosen.ts';
import { family } from './family.ts';

/** A span of time that the lanes of the timeline show, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

// With more rows than that a call is too short to be seen beside all the others.
const MANY = 120;
const NARROWEST = 1e-3;
// Room behind the latest of what is fitted, as a share of it: a mark at the very end would be cut off.
const BEHIND = 0.02;

/** What the lanes are fitted to; `null` until someone chooses. */
const fit = signal<'run' | 'rows' | Span | null>(null);
/** The rows in view. */
const seen = signal({ from: 0, to: 0 });

/** What the lanes are fitted to: the whole run, the rows in view, or a span that someone zoomed to. */
export const fitted = computed(() => {
  const kind = fit.value ?? (family.value.rows.length > MANY ? 'rows' : 'run');
  return typeof kind === 'string' ? kind : 'span';
});

export const span = computed((): Span => {
  if (fit.value !== null && typeof fit.value === 'object') return fit.value;
  const { from, to } = (fitted.value === 'rows' ? spanOfRows() : null) ?? family.value;
  return { from, to: to + (to - from) * BEHIND };
});

export function see(from: number, to: number): void {
  if (seen.peek().from !== from || seen.peek().to !== to) seen.value = { from, to };
}

export function fitTo(what: 'run' | 'rows'): void {
  fit.value = what;
}

// Another run is fitted as suits it.
effect(() => {
  chosen.value;
  fit.value = null;
});

/**
 * Shows more or less time.
 *
 * @param factor How much longer the span gets.
 * @param around The share of the span that stays where it is, from 0 to 1.
 */
export function zoom(factor: number, around = 0.5): void {
  const { from, to } = span.peek();
  const whole = family.peek();
  const length = Math.min(Math.max((to - from) * factor, NARROWEST), whole.to - whole.from);
  const start = from + (to - from - length) * around;
  fit.value = within({ from: start, to: start + length });
}

/** Moves the span by a share of its length. */
export function pan(share: number): void {
  const { from, to } = span.peek();
  const by = (to - from) * share;
  fit.value = within({ from: from + by, to: to + by });
}

function within({ from, to }: Span): Span {
  const whole = family.peek();
  const by = Math.max(0, whole.from - from) - Math.max(0, to - whole.to);
  return { from: from + by, to: to + by };
}

function spanOfRows(): Span | null {
  const { rows } = family.value;
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const row of rows.slice(seen.value.from, seen.value.to)) {
    const { call } = row;
    if (call === undefined) continue;
    from = Math.min(from, call.asked.time);
    to = Math.max(to, (call.ended ?? call.refused ?? call.started ?? call.asked).time);
  }
  return to >= from ? { from, to: Math.max(to, from + 1) } : null;
}

/** Round steps for the axis of a span, about as many as asked for. */
export function ticksOf({ from, to }: Span, begin: number, about = 6): readonly number[] {
  const rough = (to - from) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power;
  const first = Math.ceil((from - begin) / step);
  // None at the very end, where its words would be cut.
  const last = Math.floor((to - (to - from) * 0.06 - begin) / step);
  return Array.from(
    { length: Math.max(0, Math.min(last - first + 1, 4 * about)) },
    (_, tick) => (first + tick) * step,
  );
}

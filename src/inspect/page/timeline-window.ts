import { computed, effect, signal } from '@preact/signals';
import type { Span } from './axis.ts';
import { chosen } from './chosen.ts';
import { family } from './family.ts';

// With more rows than that a call is too short to be seen beside all the others.
const MANY = 120;
// In milliseconds: a time since 1970 is told no finer than a four-thousandth of one.
const NARROWEST = 0.1;
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

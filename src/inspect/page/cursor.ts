import { computed, effect, signal } from '@preact/signals';
import { chosen } from './chosen.ts';
import { watched } from './store.ts';

/** The event after which the run is shown; `null`: the latest, whichever that comes to be. */
export const cursor = signal<number | null>(null);
export const playing = signal(false);

/** How many events there are to step through. */
export const length = computed(() => (watched.value?.key === chosen.value ? watched.value.length : 0));
/** The index of the event after which the run is shown; -1 where there is none. */
export const index = computed(() => Math.min(cursor.value ?? Number.POSITIVE_INFINITY, length.value - 1));

export function goTo(event: number): void {
  cursor.value = Math.max(0, Math.min(event, length.peek() - 1));
}

export function step(by: number): void {
  goTo(index.peek() + by);
}

export function follow(): void {
  cursor.value = null;
  playing.value = false;
}

/** Plays on from the cursor, or from the start where there is nothing behind it. */
export function togglePlaying(): void {
  if (!playing.peek() && index.peek() >= length.peek() - 1) goTo(0);
  playing.value = !playing.peek();
}

const BEAT = 250;
const LONGEST = 60_000;

effect(() => {
  if (!playing.value) return;
  const timer = setInterval(() => {
    // A long run takes several events at a beat.
    step(Math.max(1, Math.round((length.peek() * BEAT) / LONGEST)));
    if (index.peek() >= length.peek() - 1) follow();
  }, BEAT);
  return () => clearInterval(timer);
});

effect(() => {
  chosen.value;
  follow();
});

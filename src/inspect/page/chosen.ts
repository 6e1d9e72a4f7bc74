import { computed, signal } from '@preact/signals';
import type { RunTrack } from '../run-model.ts';
import { hello, runs, watched } from './store.ts';

/**
 * The key of the chosen run, which the address holds, so that a reload finds it again. It holds the server too: another one may
 * give the same key to another run.
 */
export const chosen = signal(keyInAddress());

export function choose(key: string | null): void {
  location.hash = key === null ? '' : addressOf(key);
}

/** Chooses a run that nobody asked for, or none: it is no step to go back from. */
export function suggest(key: string | null): void {
  history.replaceState(null, '', key === null ? location.pathname + location.search : addressOf(key));
  chosen.value = key;
}

/** Chooses no run if the address holds one of another server than the one that is heard. */
export function forgetOthers(): void {
  if (chosen.peek() !== null && keyInAddress() === null) suggest(null);
}

addEventListener('hashchange', () => {
  chosen.value = keyInAddress();
});

/** The summary of the chosen run. */
export const summary = computed(() =>
  chosen.value === null ? null : (runs.value.get(chosen.value) ?? null),
);

/** The chosen run in the model of its family. */
export const track = computed<RunTrack | null>(() => {
  const now = watched.value;
  if (now === null || now.key !== chosen.value) return null;
  return now.model.runs.find(({ key }) => key === now.key) ?? now.model.root;
});

function addressOf(key: string): string {
  return `#${new URLSearchParams({ run: key, of: hello.peek()?.server ?? '' })}`;
}

function keyInAddress(): string | null {
  const fields = new URLSearchParams(location.hash.slice(1));
  const server = hello.peek()?.server;
  return server === undefined || server === fields.get('of') ? fields.get('run') : null;
}

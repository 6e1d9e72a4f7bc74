import { computed, effect, signal } from '@preact/signals';
import { chosen } from './chosen.ts';
import { index } from './cursor.ts';
import { callAt, type FamilyRow, family } from './family.ts';

/** The key of the row of the timeline that was picked; `null`: the call that the cursor is at. */
export const picked = signal<string | null>(null);

/** The row of which the details are shown, and where it stands; -1 where there is none. */
export const shownRow = computed((): { readonly place: number; readonly row: FamilyRow | null } => {
  const { rows } = family.value;
  const call = picked.value === null ? callAt(family.value, index.value) : null;
  const place = rows.findIndex((row) => (call === null ? row.key === picked.value : row.call === call));
  return { place, row: rows[place] ?? null };
});

effect(() => {
  chosen.value;
  picked.value = null;
});

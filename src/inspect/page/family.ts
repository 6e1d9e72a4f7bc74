import { computed } from '@preact/signals';
import type { CallTrack, RunModel, RunTrack } from '../run-model.ts';
import { track } from './chosen.ts';
import { index } from './cursor.ts';
import { grouped } from './grouped.ts';
import { watched } from './store.ts';

/** A row of the timeline: a call, or a child run, which its calls follow. */
export type FamilyRow = { readonly key: string; readonly depth: number } & (
  | { readonly call: CallTrack; readonly run?: never }
  | { readonly run: RunTrack; readonly call?: never }
);

/** The chosen run, its calls and its child runs, as the timeline lists them. */
export interface Family {
  readonly rows: readonly FamilyRow[];
  /** The call that an event tells of, by the index of the event. */
  readonly calls: ReadonlyMap<number, CallTrack>;
  /** The first and the last time that an event tells, in milliseconds. */
  readonly from: number;
  readonly to: number;
}

const NOBODY: Family = { rows: [], calls: new Map(), from: 0, to: 1 };

export const family = computed(() => {
  const root = track.value;
  return root === null || watched.value === null ? NOBODY : familyOf(watched.value.model, root);
});

function familyOf(model: RunModel, root: RunTrack): Family {
  const rows: FamilyRow[] = [];
  const calls = new Map<number, CallTrack>();
  const numbers = new Map(model.runs.map((run, number) => [run, number]));
  let from = root.started?.time ?? Number.POSITIVE_INFINITY;
  let to = Math.max(root.now.time, root.ended?.time ?? 0);

  const inside = new Map<RunTrack, ReadonlyMap<CallTrack | null, readonly CallTrack[]>>();
  const callsIn = (run: RunTrack, parent: CallTrack | null, depth: number): FamilyRow[] => {
    const byParent = inside.get(run) ?? grouped(run.calls, (call) => call.parent);
    inside.set(run, byParent);
    return (byParent.get(parent) ?? []).map((call) => ({
      key: `${numbers.get(run)}/${call.place}`,
      depth,
      call,
    }));
  };
  const runRow = (run: RunTrack, depth: number): FamilyRow => ({ key: `${numbers.get(run)}`, depth, run });

  // Runs that were not begun in the body of a call that the stream tells of come last.
  const strays = model.runs.filter((run) => run !== root && run.parentCall === null);
  // What is still to be listed, the next one last: how deep calls nest is for the stream to say.
  const next = [...callsIn(root, null, 0), ...strays.map((run) => runRow(run, 0))].reverse();
  for (let row = next.pop(); row !== undefined; row = next.pop()) {
    rows.push(row);
    const depth = row.depth + 1;
    const under =
      row.run === undefined ? callsIn(row.call.run, row.call, depth) : callsIn(row.run, null, depth);
    for (const run of row.call?.children ?? []) under.push(runRow(run, depth));
    // One by one: a call may have more inside of it than a function takes arguments.
    for (const inside of under.reverse()) next.push(inside);
    if (row.call === undefined) continue;
    const { call } = row;
    for (const moment of [call.waiting, call.started, call.refused, call.ended]) {
      if (moment === null) continue;
      calls.set(moment.index, call);
      from = Math.min(from, moment.time);
      to = Math.max(to, moment.time);
    }
  }
  return Number.isFinite(from) ? { rows, calls, from, to: Math.max(to, from + 1) } : { ...NOBODY, rows };
}

/** What time it is at the cursor, in milliseconds. */
export const now = computed(() => {
  const event = watched.value?.model.event(index.value) as { time?: unknown } | null | undefined;
  return typeof event?.time === 'number' ? event.time : family.value.to;
});

/** The call that the latest event tells of, up to the event of that index. */
export function callAt({ calls }: Family, index: number): CallTrack | null {
  for (let at = index; at >= 0; at -= 1) {
    const call = calls.get(at);
    if (call !== undefined) return call;
  }
  return null;
}

import { computed } from '@preact/signals';
import type { Phase } from '../../phases.ts';
import type { ChartEdge } from '../protocol.ts';
import type { CallTrack, RunFrame } from '../run-model.ts';
import { track } from './chosen.ts';
import { watched } from './store.ts';

interface Move {
  /** The index of the event that tells of it. */
  readonly index: number;
  readonly from: Phase;
  readonly to: Phase;
}

/** The moves of the chosen run, in order. */
const moves = computed((): readonly Move[] => {
  const run = track.value;
  const model = watched.value?.model;
  if (run === null || model === undefined) return [];
  const found: Move[] = [];
  for (let index = 0; index < model.length; index += 1) {
    const event = model.event(index) as {
      type?: unknown;
      run?: unknown;
      from?: unknown;
      phase?: unknown;
    } | null;
    if (event?.type !== 'phase.entered' || event.run !== run.id) continue;
    if (typeof event.from !== 'string' || typeof event.phase !== 'string') continue;
    found.push({ index, from: event.from, to: event.phase });
  }
  // The end of a run sets its last phase and tells of no move.
  const { ended } = run;
  if (ended !== null) {
    const [from, to] = [run.at(ended.index - 1)?.phase, run.at(ended.index)?.phase];
    if (typeof from === 'string' && typeof to === 'string') found.push({ index: ended.index, from, to });
  }
  return found;
});

/** By which event each phase and each way from one to another was first taken. */
export const firstVisits = computed(() => {
  const visits = new Map<string, number>();
  const note = (what: string, index: number) => {
    if (!visits.has(what)) visits.set(what, index);
  };
  const begin = track.value?.at(track.value.started?.index ?? -1);
  if (begin?.phase != null) note(begin.phase, begin.index);
  for (const { index, from, to } of moves.value) {
    note(from, index);
    note(to, index);
    note(wayOf(from, to), index);
  }
  return visits;
});

/** The phases that the latest call led through, up to where the run is now; none for a call that was refused. */
export function trailOf(call: CallTrack | null, frame: RunFrame | null): readonly Phase[] {
  if (frame === null || (call?.refused != null && !frame.finished)) return [];
  const taken = call?.hops ?? [];
  const goesOn = frame.hops !== taken && frame.hops[0] === taken.at(-1);
  const trail = goesOn ? [...taken, ...frame.hops.slice(1)] : frame.hops;
  // The end of a run sets its phase.
  const last = frame.finished ? trail.at(-1) : undefined;
  return last === undefined || frame.phase === null || last === frame.phase ? trail : [...trail, frame.phase];
}

/** Which of the edges goes from one phase to another: the one of that phase, or else that of all live phases. */
export function edgeFor(edges: readonly ChartEdge[], from: Phase, to: Phase): number {
  const own = edges.findIndex((edge) => edge.from === from && edge.to === to);
  return own >= 0 ? own : edges.findIndex((edge) => edge.from === '*' && edge.to === to);
}

export function wayOf(from: Phase, to: Phase): string {
  return `${from}>${to}`;
}

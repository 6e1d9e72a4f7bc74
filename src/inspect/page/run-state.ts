import type { Phase } from '../../phases.ts';
import type { RunSummary } from '../protocol.ts';
import type { RunTrack } from '../run-model.ts';
import type { GlyphName } from './glyph.tsx';

/** How a run is, in a word, and with which sign. */
export interface RunState {
  readonly word: string;
  readonly glyph: GlyphName;
  readonly tone: 'of-live' | 'of-quiet' | 'of-refused' | 'of-failed';
}

const LIVE: RunState = { word: 'live', glyph: 'live', tone: 'of-live' };
const ENDED: RunState = { word: 'ended', glyph: 'ended', tone: 'of-quiet' };
const ABORTED: RunState = { word: 'aborted', glyph: 'aborted', tone: 'of-failed' };

/** How a run is now. */
export function stateOf({ live, phase, reason }: RunSummary): RunState {
  return live ? LIVE : endedIn(phase, reason);
}

/** How a run was after an event; `null` before its first. */
export function stateAt(run: RunTrack, index: number): RunState | null {
  const frame = run.at(index);
  if (frame === null) return null;
  return frame.finished ? endedIn(frame.phase, frame.reason) : LIVE;
}

function endedIn(phase: Phase | null, reason: string | null): RunState {
  if (phase === 'REJECTED' || phase === 'EXHAUSTED') {
    return { word: phase.toLowerCase(), glyph: 'refused', tone: 'of-refused' };
  }
  return reason === null ? ENDED : ABORTED;
}

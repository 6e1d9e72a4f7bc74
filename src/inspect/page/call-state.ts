import type { CallTrack } from '../run-model.ts';
import type { GlyphName } from './glyph.tsx';
import { duration } from './words.ts';

/** How a call is after an event, in words and with a sign. */
export interface CallShown {
  readonly kind: 'to-come' | 'waiting' | 'running' | 'ran' | 'failed' | 'refused' | 'late' | 'interrupted';
  readonly words: string;
  readonly glyph: GlyphName;
  readonly tone: 'of-live' | 'of-quiet' | 'of-refused' | 'of-failed';
}

/**
 * @param index That of the event.
 * @param inOrder Whether the run tells no times, but only what came after what.
 */
export function callShown(call: CallTrack, index: number, inOrder: boolean): CallShown {
  const state = call.stateAt(index);
  const decided = call.started ?? call.refused;
  const waited =
    inOrder || call.waiting === null || decided === null
      ? ''
      : `waited ${duration(decided.time - call.waiting.time)}`;
  const took =
    inOrder || call.started === null || call.ended === null
      ? ''
      : duration(call.ended.time - call.started.time);
  if ((state === 'ended' || state === 'failed') && call.interrupted) {
    return { kind: 'interrupted', words: 'interrupted', glyph: 'warning', tone: 'of-failed' };
  }
  switch (state) {
    case null:
      return { kind: 'to-come', words: 'to come', glyph: 'to-come', tone: 'of-quiet' };
    case 'waiting':
      return { kind: 'waiting', words: 'waits', glyph: 'waiting', tone: 'of-quiet' };
    case 'in-flight':
      return { kind: 'running', words: joined('running', waited), glyph: 'running', tone: 'of-live' };
    case 'refused': {
      const { code = 'refused', message = '' } = call.refusal ?? {};
      return { kind: 'refused', words: joined(code, message, waited), glyph: 'refused', tone: 'of-refused' };
    }
    case 'failed':
      return { kind: 'failed', words: joined('failed', took, waited), glyph: 'failed', tone: 'of-failed' };
    case 'ended':
      return call.late
        ? { kind: 'late', words: joined('late', took, waited), glyph: 'ended', tone: 'of-quiet' }
        : { kind: 'ran', words: joined(took || 'ended', waited), glyph: 'ended', tone: 'of-live' };
  }
}

function joined(...words: readonly string[]): string {
  return words.filter((word) => word !== '').join(' · ');
}

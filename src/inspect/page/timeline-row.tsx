import type { CallTrack, RunTrack } from '../run-model.ts';
import type { Span } from './axis.ts';
import { type CallShown, callShown } from './call-state.ts';
import { type FamilyRow, now } from './family.ts';
import { Glyph } from './glyph.tsx';
import type { Row } from './row-list.tsx';
import { stateAt } from './run-state.ts';
import { inShort, Said } from './said.tsx';
import { span } from './timeline-window.ts';

// Behind this share of the lane there is no room for words: they stand before the bar.
const CROWDED = 0.7;
const DEEPEST = 8;

/**
 * A call or a child run as it was after an event.
 *
 * @param inOrder Whether the run tells no times, but only what came after what.
 */
export function timelineRow(row: FamilyRow, index: number, inOrder: boolean): Row {
  const shape = row.call === undefined ? runShape(row.run, index) : callShape(row.call, index, inOrder);
  return { key: row.key, indent: Math.min(row.depth, DEEPEST), ...shape };
}

function callShape(call: CallTrack, index: number, inOrder: boolean) {
  const shown = callShown(call, index, inOrder);
  const { kind, words, glyph, tone } = shown;
  return {
    label: [
      inShort(call.tool, 80),
      call.parent !== null && `inside of ${inShort(call.parent.tool, 80)}`,
      inShort(words),
    ]
      .filter((part) => typeof part === 'string')
      .join(', '),
    className: kind,
    content: (
      <>
        <span class="tool">
          <span class={tone}>
            <Glyph name={glyph} />
          </span>
          <Said text={call.tool} />
        </span>
        <span class="lane">{kind !== 'to-come' && <CallLane call={call} shown={shown} />}</span>
      </>
    ),
  };
}

function CallLane({ call, shown }: { readonly call: CallTrack; readonly shown: CallShown }) {
  const { kind, words, tone } = shown;
  const asked = call.asked.time;
  const decided = kind === 'waiting' ? now.value : (call.started ?? call.refused ?? call.asked).time;
  const end = kind === 'running' ? now.value : (call.ended?.time ?? decided);
  return (
    <>
      {call.waiting !== null && <i class="waited" style={between(asked, decided, span.value)} />}
      {kind !== 'waiting' && <i class={kind} style={between(decided, end, span.value)} />}
      <em class={tone} style={beside(asked, Math.max(decided, end), span.value)}>
        <Said text={words} />
      </em>
    </>
  );
}

function runShape(run: RunTrack, index: number) {
  const state = stateAt(run, index);
  const name = run.id ?? 'outside of any run';
  const begin = (run.started ?? run.calls[0]?.asked)?.time ?? 0;
  const end = run.ended !== null && run.ended.index <= index ? run.ended.time : now.value;
  return {
    label: `Child run ${inShort(name, 80)}, ${state?.word ?? 'to come'}`,
    className: state === null ? 'child-run to-come' : 'child-run',
    content: (
      <>
        <span class="tool">
          <Glyph name="branch" />
          <Said text={name} />
        </span>
        <span class="lane">
          {state !== null && <i class="child" style={between(begin, end, span.value)} />}
        </span>
      </>
    ),
  };
}

/** Where a bar lies in a lane. */
function between(from: number, to: number, shown: Span) {
  const begin = Math.max(from, shown.from);
  const end = Math.min(to, shown.to);
  if (end < shown.from || begin > shown.to) return { display: 'none' };
  return { left: shareOf(begin, shown), width: `${((end - begin) / (shown.to - shown.from)) * 100}%` };
}

/** Where the words of a bar stand: behind it, or before it where there is no room. */
function beside(from: number, to: number, shown: Span) {
  const length = shown.to - shown.from;
  const begin = Math.max(0, Math.min((from - shown.from) / length, 1));
  const end = Math.max(0, Math.min((to - shown.from) / length, 1));
  if (end >= CROWDED && begin > 1 - CROWDED) {
    return { right: `${(1 - begin) * 100}%`, maxWidth: `${begin * 100}%` };
  }
  const left = Math.min(end, CROWDED);
  // Over the bar where there is room on neither side.
  const background = end > CROWDED ? 'var(--page)' : 'none';
  return { left: `${left * 100}%`, maxWidth: `${(1 - left) * 100}%`, background };
}

/** A time as a share of a span, for a style. */
export function shareOf(time: number, { from, to }: Span): string {
  return `${((time - from) / (to - from)) * 100}%`;
}

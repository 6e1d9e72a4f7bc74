import { computed } from '@preact/signals';
import { summary } from './chosen.ts';
import { cursor, follow, goTo, index, length, playing, step, togglePlaying } from './cursor.ts';
import { Told } from './event-told.tsx';
import { type Family, family } from './family.ts';
import { Glyph, type GlyphName } from './glyph.tsx';
import { watched } from './store.ts';

/** Steps through the events of the chosen run. */
export function Scrubber() {
  const many = length.value;
  const at = index.value;
  const live = summary.value?.live === true;
  return (
    <section class="card scrub" aria-label="Steps through the run">
      <div class="buttons">
        <Press glyph="first" label="To the first event" off={at <= 0} onPress={() => goTo(0)} />
        <Press glyph="previous" label="One event back" off={at <= 0} onPress={() => step(-1)} />
        <Press
          glyph={playing.value ? 'pause' : 'play'}
          label={playing.value ? 'Pause' : 'Play'}
          off={many === 0}
          onPress={togglePlaying}
        />
        <Press glyph="next" label="One event on" off={at >= many - 1} onPress={() => step(1)} />
        <Press glyph="last" label="To the last event" off={at >= many - 1} onPress={() => goTo(many - 1)} />
      </div>
      <div class="track">
        <svg viewBox={`0 0 ${COLUMNS} 20`} preserveAspectRatio="none" aria-hidden="true">
          <path class="acting" d={marks.value.acting} />
          <path class="refusal" d={marks.value.refusal} />
        </svg>
        <input
          type="range"
          aria-label="Event"
          aria-valuetext={many === 0 ? 'no event yet' : `event ${at + 1} of ${many}`}
          min={0}
          max={Math.max(0, many - 1)}
          value={Math.max(0, at)}
          disabled={many === 0}
          onInput={({ currentTarget }) => goTo(currentTarget.valueAsNumber)}
        />
      </div>
      <button type="button" class="live" aria-pressed={cursor.value === null} onClick={toggleFollowing}>
        <Glyph name="live" /> {live ? 'Follow live' : 'Latest'}
      </button>
      <p class="event">
        {many === 0 ? (
          'No event yet'
        ) : (
          <>
            <span class="number">
              {(at + 1).toLocaleString()} of {many.toLocaleString()}
            </span>
            <span>
              <Told event={watched.value?.model.event(at)} />
            </span>
          </>
        )}
      </p>
    </section>
  );
}

export function toggleFollowing(): void {
  if (cursor.peek() === null) goTo(index.peek());
  else follow();
}

interface PressProps {
  readonly glyph: GlyphName;
  readonly label: string;
  readonly off: boolean;
  readonly onPress: () => void;
}

function Press({ glyph, label, off, onPress }: PressProps) {
  return (
    <button type="button" class="icon" aria-label={label} title={label} disabled={off} onClick={onPress}>
      <Glyph name={glyph} />
    </button>
  );
}

const COLUMNS = 600;

const marks = computed(() => marksOf(family.value, length.value));

/** Where calls were in flight and where some were refused, for any number of events, as two paths. */
function marksOf({ rows }: Family, many: number) {
  const columnOf = (event: number) => (many < 2 ? 0 : Math.round((event / (many - 1)) * COLUMNS));
  const acting = new Set<string>();
  const refusals = new Set<number>();
  for (const row of rows) {
    if (row.call === undefined) continue;
    const { started, ended, refused } = row.call;
    if (refused !== null) refusals.add(columnOf(refused.index));
    if (started !== null)
      acting.add(`M${columnOf(started.index)} 10H${columnOf(ended?.index ?? many - 1) + 1}`);
  }
  return {
    acting: [...acting].join(''),
    refusal: [...refusals].map((column) => `M${column} 0v20`).join(''),
  };
}

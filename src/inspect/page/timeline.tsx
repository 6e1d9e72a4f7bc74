import { useEffect, useRef } from 'preact/hooks';
import { axisTime, type Span, ticksOf } from './axis.ts';
import { summary } from './chosen.ts';
import { index } from './cursor.ts';
import { type FamilyRow, family, now } from './family.ts';
import { picked, shownRow } from './picked.ts';
import { RowList } from './row-list.tsx';
import { shareOf, timelineRow } from './timeline-row.tsx';
import { fitTo, fitted, pan, see, span, zoom } from './timeline-window.ts';
import { count } from './words.ts';

const ROW = matchMedia('(pointer: coarse)').matches ? 44 : 30;

/** The calls of the chosen run and of its child runs as they lay in time. */
export function Timeline() {
  const section = useRef<HTMLElement>(null);
  const { rows, from } = family.value;
  const at = index.value;
  const inOrder = summary.value?.clock === 'order';
  const { place } = shownRow.value;
  useZoomingWheel(section);

  const pick = (to: number) => {
    picked.value = rows[to]?.key ?? null;
  };
  return (
    <section
      ref={section}
      class="card calls"
      aria-label="Timeline"
      style={{ '--now': shareOf(now.value, span.value) }}
    >
      <header>
        <h3>
          Timeline <small>{count(summary.value?.calls ?? 0, 'call')}</small>
        </h3>
        <Press label="Show more time (−)" onPress={() => zoom(2)}>
          −
        </Press>
        <Press label="Show less time (+)" onPress={() => zoom(0.5)}>
          +
        </Press>
        <button
          type="button"
          aria-pressed={fitted.value === 'run'}
          title="Show the whole run (0)"
          onClick={() => fitTo('run')}
        >
          Fit run
        </button>
        <button
          type="button"
          aria-pressed={fitted.value === 'rows'}
          title="Show the time of the rows in view"
          onClick={() => fitTo('rows')}
        >
          Fit rows
        </button>
      </header>
      <Axis span={span.value} begin={from} inOrder={inOrder} />
      {rows.length === 0 ? (
        <p class="empty quiet">No call yet.</p>
      ) : (
        <RowList
          id="call"
          label="Calls"
          count={rows.length}
          rowHeight={ROW}
          at={place}
          selected={place}
          onMove={pick}
          onSelect={pick}
          onSeen={see}
          row={(number) => timelineRow(rows[number] as FamilyRow, at, inOrder)}
        />
      )}
    </section>
  );
}

function Press(props: { readonly label: string; readonly children: string; readonly onPress: () => void }) {
  const { label, children, onPress } = props;
  return (
    <button type="button" class="icon" aria-label={label} title={label} onClick={onPress}>
      {children}
    </button>
  );
}

interface AxisProps {
  readonly span: Span;
  readonly begin: number;
  readonly inOrder: boolean;
}

function Axis({ span, begin, inOrder }: AxisProps) {
  const ticks = ticksOf(span, begin, inOrder);
  const step = (ticks[1] ?? 0) - (ticks[0] ?? 0);
  return (
    <div class="axis" aria-hidden="true">
      <span>tool</span>
      <div>
        {ticks.map((tick) => (
          <i key={tick} style={{ left: shareOf(begin + tick, span) }}>
            {inOrder ? Math.round(tick) : axisTime(tick, step)}
          </i>
        ))}
      </div>
    </div>
  );
}

/** The wheel with Ctrl or ⌘ zooms around the pointer; with Shift, or sideways, it moves along. */
function useZoomingWheel(section: { readonly current: HTMLElement | null }): void {
  useEffect(() => {
    const element = section.current;
    if (element === null) return;
    const onWheel = (event: WheelEvent) => {
      const lane = element.querySelector('.axis > div')?.getBoundingClientRect();
      if (lane === undefined) return;
      if (event.ctrlKey || event.metaKey) {
        zoom(1.2 ** Math.sign(event.deltaY), (event.clientX - lane.left) / lane.width);
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        pan(Math.sign(event.deltaX || event.deltaY) * 0.1);
      } else return;
      event.preventDefault();
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [section]);
}

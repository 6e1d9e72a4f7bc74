import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { arrowOf } from '../../diagram/shapes.ts';
import { LABEL } from '../../diagram/text.ts';
import type { Phase } from '../../phases.ts';
import type { Box, Chart, ChartEdge, Point } from '../protocol.ts';
import { edgeFor, firstVisits, trailOf, wayOf } from './chart-state.ts';
import { track } from './chosen.ts';
import { fetchChart } from './connection.ts';
import { index } from './cursor.ts';
import { callAt, family } from './family.ts';
import { inShort } from './said.tsx';

// In milliseconds; page.css says the same.
const HOP = 220;

/**
 * The statechart of the chosen run's table, as the run is at the cursor.
 *
 * @param run The key of the run.
 */
export function ChartCard({ run }: { readonly run: string }) {
  const chart = useSignal<Chart | null>(null);
  const fault = useSignal<string | null>(null);

  useEffect(() => {
    const stop = new AbortController();
    fetchChart(run, stop.signal).then(
      (laidOut) => {
        chart.value = laidOut;
      },
      (error: unknown) => {
        if (!stop.signal.aborted) fault.value = error instanceof Error ? error.message : String(error);
      },
    );
    return () => stop.abort();
  }, [run, chart, fault]);

  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: where the chart is wider than the window, the keyboard scrolls it.
    <section class="card chart" aria-label="Statechart" tabIndex={0}>
      {chart.value !== null && <Drawing chart={chart.value} />}
      {fault.value !== null && (
        <p class="empty quiet">The statechart cannot be drawn: {inShort(fault.value)}</p>
      )}
    </section>
  );
}

function Drawing({ chart }: { readonly chart: Chart }) {
  const svg = useRef<SVGSVGElement>(null);
  const at = index.value;
  const run = track.value;
  const frame = run?.at(at) ?? null;
  const present = frame?.phase ?? null;
  const isVisited = (what: string) => (firstVisits.value.get(what) ?? Number.POSITIVE_INFINITY) <= at;
  const call = callAt(family.value, at);
  const trail = trailOf(call?.run === run ? call : null, frame);
  const { width, height, live, start, startArrow, states, edges } = chart;

  useEffect(() => {
    const box = states.find(({ phase }) => phase === present);
    const card = svg.current?.parentElement;
    if (box === undefined || !card) return;
    card.scrollLeft = ((box.x + box.width / 2) / width) * card.scrollWidth - card.clientWidth / 2;
  }, [present, states, width]);

  return (
    <svg ref={svg} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={inWords(present, trail)}>
      <rect class="live" {...live} rx={10} />
      <text x={live.x + 16} y={live.y + 24}>
        live: the run goes on
      </text>
      <g class="visited">
        <circle
          class="dot"
          cx={start.x + start.width / 2}
          cy={start.y + start.height / 2}
          r={start.width / 2}
        />
        <Arrow points={startArrow} />
      </g>
      {edges.map((edge, number) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a table's edges never change their order.
        <Edge key={number} edge={edge} visited={takenBy(edge, isVisited, states, edges)} />
      ))}
      <Trail key={`${call?.place} ${trail}`} trail={trail} edges={edges} />
      {states.map((state) => (
        <State
          key={state.phase}
          state={state}
          visited={isVisited(state.phase)}
          present={state.phase === present}
          reached={state.phase === 'IDLE' || edges.some(({ to }) => to === state.phase)}
        />
      ))}
    </svg>
  );
}

interface StateProps {
  readonly state: Chart['states'][number];
  readonly visited: boolean;
  readonly present: boolean;
  /** Whether anything leads there. */
  readonly reached: boolean;
}

function State({ state: { phase, terminal, ...box }, visited, present, reached }: StateProps) {
  const classes = ['phase', visited && 'visited', present && 'present', !reached && 'unreached'];
  return (
    <g class={classes.filter(Boolean).join(' ')}>
      <title>{inShort(phase)}</title>
      {present && <rect class="halo" {...grown(box, 5)} rx={terminal ? 17 : 13} />}
      <rect {...box} rx={terminal ? 12 : 8} />
      {terminal && <rect {...grown(box, -4)} rx={8} />}
      <text x={box.x + box.width / 2} y={box.y + box.height / 2 + 5}>
        {inShort(phase, 60)}
      </text>
    </g>
  );
}

function Edge({ edge, visited }: { readonly edge: ChartEdge; readonly visited: boolean }) {
  const { points, legal, label, labelBox } = edge;
  return (
    <g class={visited ? 'visited' : undefined}>
      <Arrow points={points} set={!legal} />
      {labelBox !== null &&
        label.map((line, number) => (
          <text
            key={line}
            class="centred"
            x={labelBox.x + labelBox.width / 2}
            y={labelBox.y + 12 + number * LABEL.lineHeight}
          >
            {line}
          </text>
        ))}
    </g>
  );
}

function Arrow({ points, set = false }: { readonly points: readonly Point[]; readonly set?: boolean }) {
  const { line, head } = arrowOf(points);
  return (
    <>
      <path class={set ? 'arrow set' : 'arrow'} d={line} />
      <path class="head" d={head} />
    </>
  );
}

// Its key is the call and the way: with another one it is drawn anew, and so traced anew.
function Trail({ trail, edges }: { readonly trail: readonly Phase[]; readonly edges: readonly ChartEdge[] }) {
  const hops = trail.slice(1).map((to, hop) => edges[edgeFor(edges, trail[hop] as Phase, to)]);
  return (
    <g>
      {hops.map((edge, hop) => {
        if (edge === undefined) return null;
        const { line, head } = arrowOf(edge.points);
        const style = { animationDelay: `${hop * HOP}ms` };
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the hops of a trail are told apart by their place alone.
          <g key={hop}>
            <path class="trace" pathLength={1} d={line} style={style} />
            <path class="trace-head" d={head} style={style} />
          </g>
        );
      })}
    </g>
  );
}

function takenBy(
  { from, to }: ChartEdge,
  isVisited: (what: string) => boolean,
  states: Chart['states'],
  edges: readonly ChartEdge[],
): boolean {
  if (from !== '*') return isVisited(wayOf(from, to));
  return states.some(
    ({ phase }) => isVisited(wayOf(phase, to)) && edges[edgeFor(edges, phase, to)]?.from === '*',
  );
}

function grown({ x, y, width, height }: Box, by: number): Box {
  return { x: x - by, y: y - by, width: width + 2 * by, height: height + 2 * by };
}

function inWords(present: Phase | null, trail: readonly Phase[]): string {
  const where =
    present === null ? 'The phase of the run is not known.' : `The run is in ${inShort(present)}.`;
  return trail.length < 2
    ? where
    : `${where} The latest way: ${trail.map((phase) => inShort(phase)).join(', ')}.`;
}

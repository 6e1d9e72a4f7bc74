// @ts-check
import { caption } from './measured-on.mjs';
import { table } from './table.mjs';
import { bytes, count, duration, significant } from './units.mjs';

/** @typedef {{ goal: string, found: string, met: boolean }} Verdict */
/** @typedef {{ runs: number, beginNs: number, idleBytes: number, heap: number, callNs: number }} LiveRuns */
/** @typedef {{ phases: number, buildNs: number, changeNs: number, callNs: number }} Phases */
/** @typedef {{ through: string, points: { calls: number, callNs: number, heap: number }[], log: number, dropped: number }} LongRun */
/** @typedef {{ waiting: number, servedNs: number, served: number }} Waiting */
/** @typedef {{ id: string, title: string, head: string[], cells: string[][], verdicts: Verdict[], rows: readonly object[] }} Section */

// What may vary, and is as good as constant.
const FLAT = 2;
// A heap is never the same to the byte: the code that a program compiles grows, and so does what it learns of it.
const GROWTH = 1e6;

/** @param {readonly LiveRuns[]} rows @returns {Section} */
export function liveRunsSection(rows) {
  const most = last(rows);
  return {
    id: 'live-runs',
    title: 'Live runs',
    head: ['live runs', 'to begin one', 'heap of an idle one', 'a call', 'heap after the calls'],
    cells: rows.map(({ runs, beginNs, idleBytes, callNs, heap }) => [
      count(runs),
      duration(beginNs),
      bytes(Math.round(idleBytes)),
      duration(callNs),
      bytes(heap),
    ]),
    verdicts: [
      {
        goal: '1,000,000 live runs in one process',
        found: `${count(most.runs)} in ${bytes(most.heap)} of heap`,
        met: most.runs >= 1_000_000,
      },
      flat(
        'the cost of a call',
        rows.map(({ callNs }) => callNs),
      ),
    ],
    rows,
  };
}

/** @param {readonly Phases[]} rows @returns {Section} */
export function phasesSection(rows) {
  return {
    id: 'phases',
    title: 'Phases',
    head: ['phases', 'to build, and decide', 'to change one transition', 'a call'],
    cells: rows.map(({ phases, buildNs, changeNs, callNs }) => [
      count(phases),
      duration(buildNs),
      duration(changeNs),
      duration(callNs),
    ]),
    verdicts: [
      flat(
        'the cost of a call',
        rows.map(({ callNs }) => callNs),
      ),
    ],
    rows,
  };
}

/** @param {readonly LongRun[]} rows @returns {Section} */
export function longRunSection(rows) {
  return {
    id: 'long-run',
    title: 'One long run',
    head: ['calls of the run', 'a call since the line before', 'heap'],
    cells: rows.flatMap(({ through, points }) =>
      points.map(({ calls, callNs, heap }) => [`${count(calls)} ${through}`, duration(callNs), bytes(heap)]),
    ),
    verdicts: rows.flatMap(({ through, points, log, dropped }) => {
      const { calls, heap } = last(points);
      const grown = heap - (points[0]?.heap ?? Number.NaN);
      return [
        {
          goal: `constant memory, within ${bytes(GROWTH)} (${through})`,
          found: `${grown < 0 ? '' : '+'}${significant(grown / 1e6)} MB`,
          met: grown <= GROWTH,
        },
        {
          goal: `a log that is bounded, and says so (${through})`,
          found: `${count(log)} decisions kept, ${count(dropped)} let go`,
          met: log < calls && log + dropped === calls,
        },
      ];
    }),
    rows,
  };
}

/** @param {readonly Waiting[]} rows @returns {Section} */
export function waitingSection(rows) {
  const most = last(rows);
  const least = rows[0] ?? most;
  const longer = most.waiting / least.waiting;
  const dearer = most.servedNs / least.servedNs;
  return {
    id: 'waiting',
    title: 'Siblings that wait',
    head: ['calls in line', 'a served call', 'served'],
    cells: rows.map(({ waiting, servedNs, served }) => [count(waiting), duration(servedNs), count(served)]),
    verdicts: [
      // The program ends with an error as soon as one is not.
      {
        goal: 'all are served, and in the order in which they asked',
        found: `${count(rows.reduce((sum, { served }) => sum + served, 0))} calls`,
        met: true,
      },
      {
        goal: `no quadratic queue: a line ${count(longer)} times as long costs far less than ${count(longer)} times as much a call`,
        found: `${significant(dearer)} times`,
        met: dearer <= Math.sqrt(longer),
      },
    ],
    rows,
  };
}

/** @param {readonly Section[]} sections @param {import('./measured-on.mjs').MeasuredOn} where */
export function scaleReport(sections, where) {
  return { ...where, sections };
}

/** @param {ReturnType<typeof scaleReport>} report */
export function scaleMarkdown({ sections, ...where }) {
  return [`${caption(where)}.`, ...sections.map(sectionMarkdown)].join('\n\n');
}

/** @param {Section} section */
function sectionMarkdown({ title, head, cells, verdicts }) {
  const lines = verdicts.map(({ goal, found, met }) => `- ${goal}: **${met ? 'yes' : 'no'}**, ${found}`);
  return [`### ${title}`, table(head, cells), lines.join('\n')].join('\n\n');
}

/** @param {string} what @param {readonly number[]} values @returns {Verdict} */
function flat(what, values) {
  const factor = Math.max(...values) / Math.min(...values);
  return {
    goal: `${what} is flat within ${FLAT} ×`,
    found: `${significant(factor)} × from the least to the most`,
    met: factor <= FLAT,
  };
}

/** @template T @param {readonly T[]} values @returns {T} */
function last(values) {
  const value = values.at(-1);
  if (value === undefined) throw new Error('Nothing was measured');
  return value;
}

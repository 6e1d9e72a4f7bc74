// @ts-check
import { caption } from './measured-on.mjs';
import { figureOf } from './row.mjs';
import { table } from './table.mjs';
import { duration, significant } from './units.mjs';

/** @typedef {{ id: string, name: string, note: string, ns: number, ratio: number, own: boolean }} PeerRow */

/**
 * What stands beside what, and in a few words what each of them does for that time.
 *
 * @param {Readonly<Record<string, string>>} versions
 * @returns {readonly { id: string, name: string, note: string, own?: true }[]}
 */
const peers = (versions) => [
  { id: 'switch', name: 'A hand-written switch', note: 'the default table and both budgets, nothing else' },
  { id: 'robot3', name: `robot3 ${versions['robot3']}`, note: 'the same rules as a machine: 3 events' },
  {
    id: 'guarded',
    name: 'phasegate: run.admit + run.afterCall',
    note: 'any table, nested calls, reasons, a log',
    own: true,
  },
  {
    id: 'callTool async',
    name: 'phasegate: await run.callTool',
    note: 'the same around an asynchronous tool, awaited',
    own: true,
  },
  {
    id: 'actor by hand',
    name: `XState ${versions['xstate']}: a machine by hand`,
    note: 'as robot3, in an actor: 3 events',
  },
  { id: 'actor', name: 'XState: the machine of phasegate', note: 'supervisor.machine in an actor: 3 events' },
  {
    id: 'opa',
    name: `OPA: opa-wasm ${versions['@open-policy-agent/opa-wasm']}`,
    note: 'a decision on a state that its caller keeps',
  },
  {
    id: 'langchain middleware',
    name: `LangChain ${versions['langchain']}: toolCallLimitMiddleware`,
    note: 'what it adds to a tool call: a count and a limit',
  },
  {
    id: 'langchain agent',
    name: 'LangChain: the tool call, with its agent',
    note: 'the graph around it, and a model that does nothing',
  },
];

/**
 * The report of `npm run bench:peers`: what was measured, the quickest first.
 *
 * @param {readonly import('./row.mjs').TimedRow[]} rows
 * @param {Readonly<Record<string, string>>} versions @param {import('./measured-on.mjs').MeasuredOn} where
 */
export function peersReport(rows, versions, where) {
  const guarded = figureOf(rows, 'guarded');
  const all = peers(versions);
  const unknown = rows.find(({ id }) => all.every((peer) => peer.id !== id));
  if (unknown !== undefined) throw new Error(`Nothing is said of the row "${unknown.id}"`);
  /** @type {PeerRow[]} */
  const measured = all.flatMap(({ own = false, ...peer }) =>
    rows.filter(({ id }) => id === peer.id).map(({ ns }) => ({ ...peer, ns, ratio: ns / guarded, own })),
  );
  measured.sort((a, b) => a.ns - b.ns);
  return {
    ...where,
    rows: measured,
    unmeasured: all.filter((peer) => rows.every(({ id }) => id !== peer.id)).map(({ name }) => name),
    inWords: `Time per call: ${measured.map(({ name, ns }) => `${name} ${duration(ns)}`).join('; ')}.`,
  };
}

/** @param {ReturnType<typeof peersReport>} report */
export function peersMarkdown(report) {
  const cells = report.rows.map(({ name, note, ns, ratio }) => [
    name,
    duration(ns),
    significant(1e9 / ns),
    significant(ratio),
    note,
  ]);
  const absent = report.unmeasured.map((name) => [name, '', '', '', 'not measured in this run']);
  return [
    `${caption(report)}.`,
    '',
    table(['', 'a call', 'a second', '× guarded call', 'for that'], [...cells, ...absent], ['for that']),
  ].join('\n');
}

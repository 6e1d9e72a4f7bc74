// @ts-check
import { inWords, verdicts } from './goals.mjs';
import { caption } from './measured-on.mjs';
import { figureOf } from './row.mjs';
import { table } from './table.mjs';
import { bytes, duration, significant } from './units.mjs';

/** @typedef {import('./row.mjs').Row} Row */

/** The report of `npm run bench`. @param {readonly Row[]} rows @param {import('./measured-on.mjs').MeasuredOn} where */
export function callsReport(rows, where) {
  const guarded = figureOf(rows, 'guarded');
  const judged = verdicts(rows);
  return {
    ...where,
    rows: rows.map((row) => ({
      ...row,
      ...('ns' in row && !row.once ? { perSecond: 1e9 / row.ns, ratio: row.ns / guarded } : {}),
      goals: judged.filter((verdict) => verdict.row === row.id).map(({ row: _, ...verdict }) => verdict),
    })),
    missed: judged.filter(({ met }) => !met).length,
  };
}

/** @param {ReturnType<typeof callsReport>} report */
export function callsMarkdown({ rows, missed, ...where }) {
  const cells = rows.map((row) => [
    row.name,
    'bytes' in row ? bytes(row.bytes) : duration(row.ns),
    row.perSecond === undefined ? '' : significant(row.perSecond),
    row.ratio === undefined ? '' : significant(row.ratio),
    row.goals.map(inWords).join('; '),
  ]);
  const goals = rows.flatMap((row) => row.goals).length;
  return [
    `${caption(where)}. Of ${goals} goals ${goals - missed} are met.`,
    '',
    table(['', 'median', 'a second', '× guarded call', 'goal'], cells, ['goal']),
  ].join('\n');
}

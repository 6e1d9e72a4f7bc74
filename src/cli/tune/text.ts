import type { Rung, Spread, TuneReport } from '../../replay/index.ts';
import type { Paint } from '../io.ts';
import { count, figure } from '../text.ts';
import { drawBars, ranges } from './plot.ts';

/** What a person is told by `phasegate tune`, in lines of that width. */
export function tuneText(report: TuneReport, paint: Paint, width: number): string[] {
  const { runs, calls, failed, least, stoppedAnyway } = report;
  const total = `${count(runs, 'run')}, ${count(calls, 'call')}, ${figure(failed)} failed`;
  if (runs === 0) return [total];
  const section = (title: string, lines: readonly string[]) => ['', paint('bold', title), ...lines];
  return [
    total,
    ...(stoppedAnyway === 0
      ? []
      : [
          paint(
            'yellow',
            `${count(stoppedAnyway, 'run is', 'runs are')} stopped under any budget: by the table`,
          ),
        ]),
    ...section('Step budget (maxSteps), without a loop budget', rungTable(report.steps, runs, paint)),
    ...section('Loop budget (maxLoopsPerPhase), without a step budget', rungTable(report.loops, runs, paint)),
    ...section('Runs stopped by both together', grid(report, paint)),
    ...section('Calls a run', spreadLines(report.figures.calls, width)),
    ...section('Failures in a row, at worst', spreadLines(report.figures.failuresInARow, width)),
    ...section('Nested calls of one call, at most', spreadLines(report.figures.nested, width)),
    ...section('Levels of sub-agents', spreadLines(report.figures.depth, width)),
    '',
    `Least budgets that stop none: ${paint('bold', `maxSteps ${least.maxSteps}, maxLoopsPerPhase ${least.maxLoopsPerPhase}`)}`,
  ];
}

function rungTable(rungs: readonly Rung[], runs: number, paint: Paint): string[] {
  const head = '  budget   stops   of all   at call: first   median    last';
  const rows = rungs.map(({ budget, stopped, at }) => {
    const share = `${((100 * stopped) / runs).toFixed(1)}%`;
    const where =
      at === null
        ? ''
        : [at.least, at.median, at.greatest].map((seq, i) => figure(seq, [17, 9, 8][i])).join('');
    const row = `${figure(budget, 8)}${figure(stopped, 8)}${share.padStart(9)}${where}`;
    return stopped === 0 ? paint('green', row) : row;
  });
  return [paint('dim', head), ...rows];
}

function grid({ steps, loops, together }: TuneReport, paint: Paint): string[] {
  const head = `  steps \\ loops${loops.map(({ budget }) => figure(budget, 8)).join('')}`;
  const rows = steps.map(({ budget }, i) => {
    const cells = (together[i] ?? []).map((stopped) => {
      const cell = figure(stopped, 8);
      return stopped === 0 ? paint('green', cell) : cell;
    });
    return `${figure(budget, 15)}${cells.join('')}`;
  });
  return [paint('dim', head), ...rows];
}

function spreadLines({ median, p90, greatest, runs }: Spread, width: number): string[] {
  if (greatest === 0) return ['  none'];
  const summary = `  median ${figure(median)}, nine in ten up to ${figure(p90)}, greatest ${figure(greatest)}`;
  return [...drawBars(ranges(runs), width), summary];
}

// @ts-check
import { inChild } from './child.mjs';
import { readOptions } from './options.mjs';
import { progressOf } from './progress.mjs';
import { measuredOn } from './report/measured-on.mjs';
import { writeMeasured } from './report/page.mjs';
import {
  liveRunsSection,
  longRunSection,
  phasesSection,
  scaleMarkdown,
  scaleReport,
  waitingSection,
} from './report/scale.mjs';

const PARTS = ['live-runs', 'phases', 'long-run', 'waiting'];

const { json, write, quick, only } = readOptions(
  'bench:scale',
  'Measures what grows with the size, and what does not: many live runs, many phases, a long run, a long line of calls.\nTakes a few minutes, and up to 2 GB of memory.',
  PARTS,
);

/** Every measure is taken in a process of its own. @type {readonly { part: string, name: string, run: () => any }[]} */
const steps = [
  ...[1e3, 1e4, 1e5, 1e6].slice(0, quick ? 3 : 4).map((runs) => ({
    part: 'live-runs',
    name: `${runs} live runs`,
    run: () => inChild('scale-live-runs.mjs', [runs, quick ? 2e5 : 4e6], ['--max-old-space-size=8192']),
  })),
  ...[7, 50, 200, 1000].map((phases) => ({
    part: 'phases',
    name: `${phases} phases`,
    run: () => inChild('scale-phases.mjs', [phases, quick ? 3 : 41]),
  })),
  ...['run.admit', 'run.callTool'].map((through) => ({
    part: 'long-run',
    name: `a run of calls through ${through}`,
    run: () => inChild('scale-long-run.mjs', [quick ? 1e5 : 1e6, through]),
  })),
  ...[10, 100, 1000, 10_000].map((waiting) => ({
    part: 'waiting',
    name: `${waiting} calls in line`,
    run: () => inChild('scale-waiting.mjs', [waiting, quick ? 2e4 : 4e5]),
  })),
];
const chosen = steps.filter(({ part }) => only.length === 0 || only.includes(part));

const progress = progressOf(chosen.length);
const measured = chosen.map(({ part, name, run }) => {
  progress.begin(name);
  return { part, result: run() };
});
progress.end();

const SECTIONS = [liveRunsSection, phasesSection, longRunSection, waitingSection];
const sections = PARTS.flatMap((part, index) => {
  const rows = measured.filter((one) => one.part === part).map(({ result }) => result);
  const section = SECTIONS[index];
  return rows.length === 0 || section === undefined ? [] : [section(rows)];
});
const report = scaleReport(sections, measuredOn(quick));
console.log(json ? JSON.stringify(report, null, 2) : scaleMarkdown(report));
if (write) writeMeasured('scale', scaleMarkdown(report));

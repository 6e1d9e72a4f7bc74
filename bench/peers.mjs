// @ts-check
import { createRequire } from 'node:module';
import { readOptions, spansOf } from './options.mjs';
import { ensureInstalled, versions } from './peers/install.mjs';
import { progressOf } from './progress.mjs';
import { chart } from './report/chart.mjs';
import { caption, measuredOn } from './report/measured-on.mjs';
import { writeImage, writeMeasured } from './report/page.mjs';
import { peersMarkdown, peersReport } from './report/peers.mjs';
import { callTasks } from './rows/calls.mjs';
import { machineByHandTask } from './rows/machine-by-hand.mjs';
import { timed } from './rows/task.mjs';

const { json, write, quick } = readOptions(
  'bench:peers',
  'Measures a guarded call beside what else one could put around a tool. Takes a minute, and installs the packages that\nit is measured beside into bench/peers when they are not there.',
);
ensureInstalled();
const { langchainRows } = await import('./peers/langchain.mjs');
const { opaTask } = await import('./peers/opa.mjs');
const { robot3Task } = await import('./peers/robot3.mjs');

const own = callTasks().filter(({ id }) => ['switch', 'guarded', 'callTool async', 'actor'].includes(id));
const opa = await opaTask();
const tasks = [...own, machineByHandTask(), await robot3Task(), ...(opa === undefined ? [] : [opa])];
const progress = progressOf(tasks.length + 1);
const rows = await timed(tasks, spansOf(quick), progress.begin);
progress.begin('LangChain');
rows.push(...(await langchainRows(quick ? 10 : 100)));
progress.end();

const { version: xstate } = createRequire(import.meta.url)('xstate/package.json');
const report = peersReport(rows, { xstate, ...versions() }, measuredOn(quick));
console.log(json ? JSON.stringify(report, null, 2) : peersMarkdown(report));
if (write) {
  const svg = chart({ rows: report.rows, caption: caption(report), inWords: report.inWords });
  writeMeasured('peers', `![${report.inWords}](images/calls.svg)\n\n${peersMarkdown(report)}`);
  writeImage('calls.svg', svg);
}

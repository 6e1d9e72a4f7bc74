// @ts-check
import { readOptions, spansOf } from './options.mjs';
import { progressOf } from './progress.mjs';
import { callsMarkdown, callsReport } from './report/calls.mjs';
import { measuredOn } from './report/measured-on.mjs';
import { writeMeasured } from './report/page.mjs';
import { callTasks } from './rows/calls.mjs';
import { heapRows } from './rows/heap.mjs';
import { importRows } from './rows/imports.mjs';
import { observedTasks } from './rows/observed.mjs';
import { replayTasks } from './rows/replay.mjs';
import { supervisorTasks } from './rows/supervisors.mjs';
import { timed } from './rows/task.mjs';

const { json, write, quick } = readOptions(
  'bench',
  'Measures what supervision costs, and says which of its goals are met. Takes about three minutes.',
);

// Supervisors last: what they leave on the heap, machines of 200 phases, makes later rows up to two thirds slower.
const tasks = [...callTasks(), ...(await observedTasks()), ...(await replayTasks()), ...supervisorTasks()];
const progress = progressOf(tasks.length + 2);
const rows = await timed(tasks, spansOf(quick), progress.begin);
progress.begin('imports');
rows.push(...importRows(quick ? 3 : 41));
progress.begin('heaps');
const report = callsReport([...rows, ...heapRows()], measuredOn(quick));
progress.end();
console.log(json ? JSON.stringify(report, null, 2) : callsMarkdown(report));
if (write) writeMeasured('calls', callsMarkdown(report));

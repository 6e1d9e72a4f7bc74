// @ts-check
import { Bench } from 'tinybench';
import { markdown, report } from './report.mjs';
import { callTasks } from './rows/calls.mjs';
import { heapRows } from './rows/heap.mjs';
import { importRows } from './rows/imports.mjs';
import { replayTask } from './rows/replay.mjs';
import { supervisorTasks } from './rows/supervisors.mjs';

const bench = new Bench({ time: 1500, warmupTime: 500 });
const tasks = [...callTasks(), ...supervisorTasks(), replayTask()];
for (const { name, run } of tasks) bench.add(name, run);
await bench.run();

const timed = tasks.map(({ name, per }) => {
  const result = bench.getTask(name)?.result;
  if (result?.state !== 'completed') throw new Error(`${name}: ${JSON.stringify(result)}`);
  return { name, ns: (result.latency.p50 * 1e6) / per };
});

const result = report([...timed, ...importRows(), ...heapRows()]);
console.log(process.argv.includes('--json') ? JSON.stringify(result, null, 2) : markdown(result));

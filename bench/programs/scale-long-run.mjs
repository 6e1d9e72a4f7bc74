// @ts-check
// Prints, as JSON, the heap of a run after so many calls, at several points, and what its log says. Arguments: how many calls,
// and whether through `run.admit` or `run.callTool`.
import { ARGS, called, heap, unlimited } from './support.mjs';

const calls = Number(process.argv[2]);
const through = process.argv[3];
const POINTS = [100, 10, 1];

const enforcement = unlimited();
// Code is compiled on a run that does not count, and lives on: see scale-live-runs.mjs.
const earlier = enforcement.beginRun();
await call(earlier, 50_000);

const run = enforcement.beginRun();
const points = [];
let made = 0;
for (const part of POINTS) {
  const more = Math.floor(calls / part) - made;
  const start = performance.now();
  await call(run, more);
  const callNs = ((performance.now() - start) * 1e6) / more;
  made += more;
  points.push({ calls: made, callNs, heap: heap() });
}
if (run.state.stepCount !== calls) throw new Error(`${run.state.stepCount} of ${calls} calls were counted`);
if (earlier.state.finished) throw new Error('the earlier run has ended');
console.log(JSON.stringify({ through, points, log: run.log.length, dropped: run.logDropped }));

/** @param {import('phasegate').Run} one @param {number} times */
async function call(one, times) {
  if (through === 'run.admit') for (let i = 0; i < times; i++) called(one);
  else for (let i = 0; i < times; i++) await one.callTool('search', ARGS, async () => i);
}

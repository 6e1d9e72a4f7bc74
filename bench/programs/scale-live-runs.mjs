// @ts-check
// Prints, as JSON, what a call costs among so many live runs, and what heap they take. Arguments: how many runs, and how many
// calls they make in all: as many at each number of runs, so that as much garbage is collected meanwhile.
import { median } from '../median.mjs';
import { admitted, called, heap, unlimited } from './support.mjs';

const [runs = 0, calls = 0] = process.argv.slice(2).map(Number);
const ROUNDS = 3;
// So many calls are in flight at any time, each in another run.
const IN_FLIGHT = 64;

const enforcement = unlimited();
// Code is compiled on runs that do not count. They live on: code that was compiled for objects of which a collection finds
// none any more is thrown away.
const earlier = Array.from({ length: 5000 }, () => {
  const run = enforcement.beginRun();
  for (let c = 0; c < 8; c++) called(run);
  return run;
});

const live = new Array(runs).fill(null);
const begins = [];
const times = [];
const idle = [];
let used = 0;
for (let round = 0; round < ROUNDS; round++) {
  live.fill(null);
  const before = heap();
  const begun = performance.now();
  for (let i = 0; i < runs; i++) live[i] = enforcement.beginRun();
  begins.push(((performance.now() - begun) * 1e6) / runs);
  idle.push((heap() - before) / runs);
  const start = performance.now();
  interleaved();
  times.push(((performance.now() - start) * 1e6) / calls);
  used = heap() - before;
}
if (earlier.some(({ state }) => state.stepCount !== 8)) throw new Error('the runs were mixed up');
console.log(
  JSON.stringify({
    runs,
    beginNs: median(begins),
    idleBytes: median(idle),
    heap: used,
    callNs: median(times),
  }),
);

/** A call of each run in turn, and over again; each ends when 64 others have begun. */
function interleaved() {
  /** @type {import('phasegate').Call[]} */
  const open = [];
  for (let i = 0; i < calls; i++) {
    const call = admitted(live[i % runs]);
    const ended = open[i % IN_FLIGHT];
    ended?.run.afterCall(ended);
    open[i % IN_FLIGHT] = call;
  }
  for (const call of open) call.run.afterCall(call);
}

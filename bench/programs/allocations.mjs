// @ts-check
// Prints, as JSON, how many bytes an admitted call and its end allocate, and how many of them besides the call. Collections
// are kept off by a young generation that is larger than all that is allocated: see rows/heap.mjs.
import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate } from 'node:timers/promises';
import { createEnforcement, createSupervisor } from 'phasegate';
import { median } from '../median.mjs';
import { called, heap } from './support.mjs';

const ROUNDS = 5;
const CALLS = 50_000;
const KEPT = 200_000;
// More than the log of a run holds on to.
const EARLIER = 4000;

/** @type {{ startTime: number }[]} */
const collections = [];
new PerformanceObserver((list) => void collections.push(...list.getEntries())).observe({
  entryTypes: ['gc'],
});

// A budget that is not reached, and is a small integer as real ones are: V8 boxes a number such as Infinity where it reads it.
const supervisor = createSupervisor({ maxSteps: 1_000_000_000 });
const run = createEnforcement({ supervisor }).beginRun();

// What is compiled, and a log that fills up, are not counted.
for (let i = 0; i < 4 * CALLS; i++) called(run);

/** @type {number[]} */
const allocated = [];
for (let round = 0; round < ROUNDS; round++) {
  const before = heap();
  const start = performance.now();
  for (let i = 0; i < CALLS; i++) called(run);
  const bytes = process.memoryUsage().heapUsed - before;
  const end = performance.now();
  await setImmediate();
  if (collections.some(({ startTime }) => startTime > start && startTime < end)) {
    throw new Error('Garbage was collected while its bytes were counted: raise --min-semi-space-size');
  }
  allocated.push(bytes / CALLS);
}

// The calls that the log holds on to when the count begins are kept too, so that letting go of them changes nothing.
const earlier = Array.from({ length: EARLIER }, () => called(run));
const kept = new Array(KEPT).fill(null);
const before = heap();
for (let i = 0; i < KEPT; i++) kept[i] = called(run);
const ofTheCall = (heap() - before) / KEPT;
if (earlier.length + kept.length !== EARLIER + KEPT) throw new Error('the calls were collected');

const total = median(allocated);
console.log(
  JSON.stringify({ total: Math.round(total), besides: Math.max(0, Math.round(total - ofTheCall)) }),
);

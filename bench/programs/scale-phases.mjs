// @ts-check
// Prints, as JSON, what a table of so many phases costs: to build, to change by one transition, and in a call.
import { createSupervisor } from 'phasegate';
import { median } from '../median.mjs';
import { decide, tableOf } from '../tables.mjs';
import { called, unlimited } from './support.mjs';

const [phases = 0, rounds = 0] = process.argv.slice(2).map(Number);
const CALLS = 100_000;

const table = { ...tableOf(phases), maxSteps: Number.POSITIVE_INFINITY };
const build = sampled(rounds, () => decide(createSupervisor(table)));
const supervisor = createSupervisor(table);
decide(supervisor);
const change = sampled(rounds, () => {
  supervisor.addTransition('OBSERVING', 'ACTING');
  decide(supervisor);
  supervisor.removeTransition('OBSERVING', 'ACTING');
  decide(supervisor);
});
const run = unlimited({ supervisor }).beginRun();
const call = sampled(rounds, () => {
  for (let i = 0; i < CALLS; i++) called(run);
});
console.log(JSON.stringify({ phases, buildNs: build, changeNs: change / 2, callNs: call / CALLS }));

/** The median time, in nanoseconds, after a few that do not count. @param {number} rounds @param {() => void} what */
function sampled(rounds, what) {
  for (let i = 0; i < 3; i++) what();
  return median(
    Array.from({ length: rounds }, () => {
      const start = performance.now();
      what();
      return (performance.now() - start) * 1e6;
    }),
  );
}

// @ts-check
// Prints how many bytes of heap one of 100,000 live things takes. Its argument says of what kind.
import { createEnforcement, createSupervisor, Refusal } from 'phasegate';
import { createActor } from 'xstate';

const COUNT = 100_000;

const supervisor = createSupervisor();
const enforcement = createEnforcement({ supervisor });

const begun = () => enforcement.beginRun();

const afterACall = () => {
  const run = enforcement.beginRun();
  const call = run.admit('search', { q: 'xstate' });
  if (call instanceof Refusal || call instanceof Promise) throw new Error('not admitted');
  run.afterCall(call);
  return run;
};

const actor = () => createActor(supervisor.machine).start();

const make = { begun, 'after a call': afterACall, actor }[String(process.argv[2])];
if (make === undefined) throw new Error(`There is no kind ${process.argv[2]}`);

// Code that is compiled, and what is made once, is not counted.
for (let i = 0; i < 1000; i++) make();
const live = new Array(COUNT).fill(null);
const before = heap();
for (let i = 0; i < COUNT; i++) live[i] = make();
const bytes = (heap() - before) / COUNT;
if (live.length !== COUNT) throw new Error('the runs were collected');
console.log(Math.round(bytes));

function heap() {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

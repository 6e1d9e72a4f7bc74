// @ts-check
// Prints how many bytes of heap one of 100,000 live things takes. Its argument says of what kind.
import { createActor } from 'xstate';
import { admitted, called, heap, unlimited } from './support.mjs';

const COUNT = 100_000;
const enforcement = unlimited();

const make = {
  begun: () => enforcement.beginRun(),
  'in flight': () => admitted(enforcement.beginRun()),
  'after a call': () => called(enforcement.beginRun()).run,
  actor: () => createActor(enforcement.supervisor.machine).start(),
}[String(process.argv[2])];
if (make === undefined) throw new Error(`There is no kind ${process.argv[2]}`);

// Code that is compiled, and what is made once, is not counted.
for (let i = 0; i < 1000; i++) make();
const live = new Array(COUNT).fill(null);
const before = heap();
for (let i = 0; i < COUNT; i++) live[i] = make();
const bytes = (heap() - before) / COUNT;
if (live.length !== COUNT) throw new Error('the runs were collected');
console.log(Math.round(bytes));

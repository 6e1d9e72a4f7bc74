// @ts-check
import { createEnforcement, createSupervisor, Refusal } from 'phasegate';
import { createActor } from 'xstate';
import { HandWrittenMachine } from '../hand-written-machine.mjs';

/** @typedef {{ name: string, per: number, run: () => void | Promise<void> }} Task `per`: how often a run does what is measured */

const BATCH = 1000;
const ARGS = { q: 'xstate' };

/** @param {{ q: string }} args */
const tool = (args) => args.q.length;

/** @param {{ q: string }} args */
const asyncTool = async (args) => args.q.length;

/** One tool call, in the ways in which it can be made. @returns {Task[]} */
export function callTasks() {
  const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
  const enforcement = createEnforcement({ supervisor });
  const guarded = enforcement.beginRun();
  const awaited = enforcement.beginRun();
  const actor = createActor(supervisor.machine).start();
  const handWritten = new HandWrittenMachine(Number.POSITIVE_INFINITY, 3);
  return [
    batched('call without a guard', () => tool(ARGS)),
    batched('call through a hand-written switch', () => {
      if (!handWritten.admit()) throw new Error('refused');
      const length = tool(ARGS);
      handWritten.succeed();
      return length;
    }),
    batched('guarded call: run.admit + run.afterCall', () => {
      const call = guarded.admit('search', ARGS);
      if (call instanceof Refusal || call instanceof Promise) throw new Error('not admitted');
      const length = tool(ARGS);
      guarded.afterCall(call);
      return length;
    }),
    batched('call through a bare XState actor: 3 events', () => {
      actor.send({ type: 'propose.PLANNING' });
      actor.send({ type: 'call.start' });
      const length = tool(ARGS);
      actor.send({ type: 'call.succeed' });
      return length;
    }),
    batchedAsync('await a call without a guard', () => asyncTool(ARGS)),
    batchedAsync('await run.callTool', () => awaited.callTool('search', ARGS, () => tool(ARGS))),
  ];
}

// What the tools answer is used, or the compiler would drop the calls.

/** @param {string} name @param {() => number} call @returns {Task} */
function batched(name, call) {
  const run = () => {
    let sum = 0;
    for (let i = 0; i < BATCH; i++) sum += call();
    check(sum);
  };
  return { name, per: BATCH, run };
}

/** @param {string} name @param {() => Promise<number>} call @returns {Task} */
function batchedAsync(name, call) {
  const run = async () => {
    let sum = 0;
    for (let i = 0; i < BATCH; i++) sum += await call();
    check(sum);
  };
  return { name, per: BATCH, run };
}

/** @param {number} sum */
function check(sum) {
  if (sum !== BATCH * ARGS.q.length) throw new Error(`The tools answered ${sum}`);
}

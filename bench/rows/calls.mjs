// @ts-check
import { createEnforcement, createSupervisor, Refusal } from 'phasegate';
import { createActor } from 'xstate';
import { HandWrittenMachine } from '../hand-written-machine.mjs';
import { ARGS, awaitedCalls, calls, tool } from './task.mjs';

/** @typedef {import('./task.mjs').Task} Task */

/** @param {{ q: string }} args */
const asyncTool = async (args) => args.q.length;

/** One tool call, in the ways in which it can be made. @returns {Task[]} */
export function callTasks() {
  const awaited = unlimited().beginRun();
  const awaitedAsync = unlimited().beginRun();
  return [
    calls('bare', 'call without a guard', () => tool(ARGS)),
    ...guardedTasks(),
    refusalTask(),
    awaitedCalls('bare await', 'await a call without a guard', () => asyncTool(ARGS)),
    awaitedCalls('callTool', 'await run.callTool', () => awaited.callTool('search', ARGS, () => tool(ARGS))),
    awaitedCalls('callTool async', 'await run.callTool, its body asynchronous', () =>
      awaitedAsync.callTool('search', ARGS, () => asyncTool(ARGS)),
    ),
  ];
}

/** What a guarded call is compared with, the call itself, and the same moves of the XState machine. @returns {Task[]} */
function guardedTasks() {
  const enforcement = unlimited();
  const guarded = enforcement.beginRun();
  const actor = createActor(enforcement.supervisor.machine).start();
  const handWritten = new HandWrittenMachine(Number.POSITIVE_INFINITY, 3);
  return [
    calls('switch', 'call through a hand-written switch', () => {
      if (!handWritten.admit()) throw new Error('refused');
      const length = tool(ARGS);
      handWritten.succeed();
      return length;
    }),
    calls('guarded', 'guarded call: run.admit + run.afterCall', () => {
      const call = guarded.admit('search', ARGS);
      if (call instanceof Refusal || call instanceof Promise) throw new Error('not admitted');
      const length = tool(ARGS);
      guarded.afterCall(call);
      return length;
    }),
    calls('actor', 'call through a bare XState actor: 3 events', () => {
      actor.send({ type: 'propose.PLANNING' });
      actor.send({ type: 'call.start' });
      const length = tool(ARGS);
      actor.send({ type: 'call.succeed' });
      return length;
    }),
  ];
}

/** A call that is refused, and answers in the place of the tool that is not run. @returns {Task} */
function refusalTask() {
  const run = createEnforcement({ supervisor: createSupervisor({ maxSteps: 0 }) }).beginRun();
  return calls('refusal', 'refused call: run.admit past the budget', () => {
    const refusal = run.admit('search', ARGS);
    if (!(refusal instanceof Refusal)) throw new Error('not refused');
    return refusal.tool.length;
  });
}

function unlimited() {
  return createEnforcement({ supervisor: createSupervisor({ maxSteps: Number.POSITIVE_INFINITY }) });
}

// @ts-check
import { ARGS, calls, tool } from '../rows/task.mjs';

// Named in a variable: types are checked where this folder's packages are not installed.
const ROBOT3 = /** @type {string} */ ('robot3');

/** @typedef {{ stepCount: number, inFlight: number, loopCount: number }} Context */

/** The default table and both budgets as a machine of robot3: one call at a time. @returns {Promise<import('../rows/task.mjs').Task>} */
export async function robot3Task() {
  const { createMachine, guard, interpret, reduce, state, transition } = await import(ROBOT3);
  const maxSteps = Number.POSITIVE_INFINITY;
  const withinSteps = guard((/** @type {Context} */ ctx) => ctx.stepCount + ctx.inFlight < maxSteps);
  const withinLoops = guard((/** @type {Context} */ ctx) => ctx.loopCount < 3);
  const begin = reduce((/** @type {Context} */ ctx) => ({
    ...ctx,
    inFlight: ctx.inFlight + 1,
    loopCount: 0,
  }));
  const loop = reduce((/** @type {Context} */ ctx) => ({
    ...ctx,
    inFlight: ctx.inFlight + 1,
    loopCount: ctx.loopCount + 1,
  }));
  const succeed = reduce((/** @type {Context} */ ctx) => ({
    stepCount: ctx.stepCount + 1,
    inFlight: ctx.inFlight - 1,
    loopCount: 0,
  }));
  const propose = transition('propose', 'planning', withinSteps);
  const machine = createMachine(
    {
      idle: state(propose),
      planning: state(transition('start', 'acting', withinSteps, begin), transition('answer', 'answering')),
      acting: state(
        transition('succeed', 'observing', succeed),
        transition('start', 'acting', withinSteps, withinLoops, loop),
      ),
      observing: state(propose, transition('answer', 'answering')),
      answering: state(),
    },
    () => ({ stepCount: 0, inFlight: 0, loopCount: 0 }),
  );
  const service = interpret(machine, () => {});
  return calls('robot3', 'robot3: 3 events', () => {
    service.send('propose');
    service.send('start');
    const length = tool(ARGS);
    service.send('succeed');
    if (service.machine.current !== 'observing') throw new Error(`robot3 is in ${service.machine.current}`);
    return length;
  });
}

// @ts-check
import { assign, createActor, setup } from 'xstate';
import { ARGS, calls, tool } from './task.mjs';

/** The default table and both budgets as a machine that one would write with XState: one call at a time. */
const machine = setup({
  types: {
    context: /** @type {{ stepCount: number, inFlight: number, loopCount: number }} */ ({}),
    events: /** @type {{ type: 'propose' | 'start' | 'succeed' | 'answer' }} */ ({}),
  },
  guards: {
    withinSteps: ({ context }) => context.stepCount + context.inFlight < Number.POSITIVE_INFINITY,
    withinBoth: ({ context }) =>
      context.stepCount + context.inFlight < Number.POSITIVE_INFINITY && context.loopCount < 3,
  },
  actions: {
    begin: assign({ inFlight: ({ context }) => context.inFlight + 1, loopCount: 0 }),
    loop: assign({
      inFlight: ({ context }) => context.inFlight + 1,
      loopCount: ({ context }) => context.loopCount + 1,
    }),
    succeed: assign({
      stepCount: ({ context }) => context.stepCount + 1,
      inFlight: ({ context }) => context.inFlight - 1,
      loopCount: 0,
    }),
  },
}).createMachine({
  context: { stepCount: 0, inFlight: 0, loopCount: 0 },
  initial: 'idle',
  states: {
    idle: { on: { propose: { target: 'planning', guard: 'withinSteps' } } },
    planning: {
      on: { start: { target: 'acting', guard: 'withinSteps', actions: 'begin' }, answer: 'answering' },
    },
    acting: {
      on: {
        succeed: { target: 'observing', actions: 'succeed' },
        start: { target: 'acting', guard: 'withinBoth', actions: 'loop' },
      },
    },
    observing: { on: { propose: { target: 'planning', guard: 'withinSteps' }, answer: 'answering' } },
    answering: { type: 'final' },
  },
});

/** @returns {import('./task.mjs').Task} */
export function machineByHandTask() {
  const actor = createActor(machine).start();
  return calls('actor by hand', 'XState, a machine by hand: 3 events', () => {
    actor.send({ type: 'propose' });
    actor.send({ type: 'start' });
    const length = tool(ARGS);
    actor.send({ type: 'succeed' });
    if (!actor.getSnapshot().matches('observing')) throw new Error('the actor is not in observing');
    return length;
  });
}

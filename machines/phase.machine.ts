/**
 * The default phase machine as a literal, so that Stately's editor and command line can read it. `src/machine.ts`
 * builds the same config for any table; a test says that for the default one the two are equal.
 */
import type { SnapshotFrom } from 'xstate';
import { phaseSetup } from '../src/machine.ts';

export const phaseMachine = phaseSetup.createMachine({
  id: 'phasegate',
  description: 'Where an agent run is, and which tool calls are legal there.',
  initial: 'IDLE',
  context: {
    maxSteps: 50,
    maxLoopsPerPhase: 3,
    stepCount: 0,
    loopCount: {
      IDLE: 0,
      PLANNING: 0,
      ACTING: 0,
      OBSERVING: 0,
      ANSWERING: 0,
      REJECTED: 0,
      EXHAUSTED: 0,
    },
    inFlight: 0,
    reason: null,
  },
  states: {
    IDLE: {
      description: 'The run has begun and nothing has happened yet.',
      on: {
        'propose.PLANNING': [{ target: 'PLANNING', guard: 'withinStepBudget', actions: 'resetLoopCount' }],
        'run.finish': [{ target: 'ANSWERING' }],
        'run.abort': [{ target: 'ANSWERING', actions: 'keepReason' }],
      },
    },
    PLANNING: {
      description: 'The model decides what to do next.',
      on: {
        'propose.ACTING': [{ target: 'ACTING', guard: 'withinStepBudget', actions: 'resetLoopCount' }],
        'propose.ANSWERING': [{ target: 'ANSWERING', guard: 'withinStepBudget', actions: 'resetLoopCount' }],
        'call.start': [
          { target: 'ACTING', guard: 'withinStepBudget', actions: ['resetLoopCount', 'admitCall'] },
        ],
        'run.finish': [{ target: 'ANSWERING' }],
        'run.abort': [{ target: 'ANSWERING', actions: 'keepReason' }],
      },
    },
    ACTING: {
      description:
        'Tools are running. Calls made from inside a tool, and retries after a failure, are self-loops.',
      on: {
        'propose.OBSERVING': [
          { guard: 'callInFlight' },
          { target: 'OBSERVING', guard: 'withinStepBudget', actions: 'resetLoopCount' },
        ],
        'call.start': [
          { guard: 'stepBudgetSpent' },
          {
            guard: { type: 'withinLoopBudget', params: { phase: 'ACTING' } },
            actions: [{ type: 'countLoop', params: { phase: 'ACTING' } }, 'admitCall'],
          },
        ],
        'call.join': [{ guard: 'stepBudgetSpent' }, { guard: 'callInFlight', actions: 'admitCall' }],
        'call.succeed': [
          {
            target: 'OBSERVING',
            guard: 'lastCallInFlight',
            actions: ['endCall', 'countStep', 'resetLoopCount'],
          },
          { guard: 'callInFlight', actions: ['endCall', 'countStep'] },
        ],
        'call.fail': [{ guard: 'callInFlight', actions: 'endCall' }],
        'run.finish': [{ target: 'ANSWERING' }],
        'run.abort': [{ target: 'ANSWERING', actions: 'keepReason' }],
      },
    },
    OBSERVING: {
      description: 'The last tool has returned, and the model reads its result.',
      on: {
        'propose.PLANNING': [{ target: 'PLANNING', guard: 'withinStepBudget', actions: 'resetLoopCount' }],
        'propose.ANSWERING': [{ target: 'ANSWERING', guard: 'withinStepBudget', actions: 'resetLoopCount' }],
        'run.finish': [{ target: 'ANSWERING' }],
        'run.abort': [{ target: 'ANSWERING', actions: 'keepReason' }],
      },
    },
    ANSWERING: {
      description: 'The run has ended: the agent answered, threw or was aborted.',
      type: 'final',
    },
    REJECTED: {
      description: 'The run has ended because a check refused a call.',
      type: 'final',
    },
    EXHAUSTED: {
      description: 'The run has ended because a budget was used up.',
      type: 'final',
    },
  },
});

/** A state of {@link phaseMachine}. */
export type PhaseSnapshot = SnapshotFrom<typeof phaseMachine>;

/**
 * The phase machine: table and budgets as an XState statechart. The only place that builds one; what its guards
 * answer comes from `decide.ts`.
 *
 * A transition without a target and without actions, listed ahead of others, forbids: the first that holds is
 * taken. So the order in which a list is written is the order of the checks in SPEC §3.1 and §4.3.
 */
import {
  assign,
  type EventObject,
  type MetaObject,
  type NonReducibleUnknown,
  type StateMachine,
  setup,
} from 'xstate';
import { withinLoopBudget, withinStepBudget } from './decide.ts';
import { isTerminal, type Phase } from './phases.ts';
import type { Rules } from './rules.ts';

/** What the machine counts, next to its budgets. Every phase has its loop count from the start. */
export interface PhaseContext {
  readonly maxSteps: number;
  readonly maxLoopsPerPhase: number;
  readonly stepCount: number;
  readonly loopCount: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly reason: string | null;
}

/** What can be sent to the machine: proposals, and what happens to calls and to the run. */
export type PhaseEvent =
  | { readonly type: `propose.${string}` }
  | { readonly type: 'call.start' | 'call.join' | 'call.succeed' | 'call.fail' }
  | { readonly type: 'run.finish' }
  | { readonly type: 'run.abort' | 'run.exhaust' | 'run.reject'; readonly reason?: string };

type OfPhase = { readonly phase: Phase };

const noLoops = (loopCount: PhaseContext['loopCount']): PhaseContext['loopCount'] =>
  Object.fromEntries(Object.keys(loopCount).map((phase) => [phase, 0]));

/** The guards and actions of every phase machine; `machines/` writes its literals with it. */
export const phaseSetup = setup({
  types: {
    context: {} as PhaseContext,
    events: {} as PhaseEvent,
  },
  guards: {
    withinStepBudget: ({ context }) => withinStepBudget(context, context.stepCount, context.inFlight),
    withinLoopBudget: ({ context }, { phase }: OfPhase) =>
      withinLoopBudget(context, context.loopCount[phase] ?? Number.NaN, 0),
    stepBudgetSpent: ({ context }) => !withinStepBudget(context, context.stepCount, context.inFlight),
    loopBudgetSpent: ({ context }, { phase }: OfPhase) =>
      !withinLoopBudget(context, context.loopCount[phase] ?? Number.NaN, 0),
    callInFlight: ({ context }) => context.inFlight > 0,
    lastCallInFlight: ({ context }) => context.inFlight === 1,
  },
  actions: {
    countStep: assign({ stepCount: ({ context }) => context.stepCount + 1 }),
    countLoop: assign({
      loopCount: ({ context }, { phase }: OfPhase) => ({
        ...context.loopCount,
        [phase]: (context.loopCount[phase] ?? 0) + 1,
      }),
    }),
    resetLoopCount: assign({ loopCount: ({ context }) => noLoops(context.loopCount) }),
    admitCall: assign({ inFlight: ({ context }) => context.inFlight + 1 }),
    endCall: assign({ inFlight: ({ context }) => context.inFlight - 1 }),
    keepReason: assign({ reason: ({ event }) => ('reason' in event ? (event.reason ?? null) : null) }),
  },
});

type MachineConfig = Parameters<typeof phaseSetup.createMachine>[0];

/**
 * The type of every phase machine. Written out, since what XState infers of a config that is computed knows neither the
 * events nor the phases.
 */
export type PhaseMachine = StateMachine<
  PhaseContext,
  PhaseEvent,
  Record<string, never>,
  // biome-ignore lint/suspicious/noExplicitAny: no actors, and implementations of any other machine of this setup.
  any,
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  any,
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  any,
  never,
  Phase,
  string,
  NonReducibleUnknown,
  NonReducibleUnknown,
  EventObject,
  MetaObject,
  // biome-ignore lint/suspicious/noExplicitAny: the config is that of `phaseMachineConfig`, whatever the table.
  any
>;

type StateConfig = NonNullable<MachineConfig['states']>[string];
type TransitionsConfig = NonNullable<NonNullable<StateConfig>['on']>;

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  IDLE: 'The run has begun and nothing has happened yet.',
  PLANNING: 'The model decides what to do next.',
  ACTING: 'Tools are running. Calls made from inside a tool, and retries after a failure, are self-loops.',
  OBSERVING: 'The last tool has returned, and the model reads its result.',
  ANSWERING: 'The run has ended: the agent answered, threw or was aborted.',
  REJECTED: 'The run has ended because a check refused a call.',
  EXHAUSTED: 'The run has ended because a budget was used up.',
};

/** The machine of these rules. Building one is dear: build one for a table, not one for a run. */
export function createPhaseMachine(rules: Rules): PhaseMachine {
  return phaseSetup.createMachine(phaseMachineConfig(rules)) as unknown as PhaseMachine;
}

/** The config of the machine of these rules, plain data that could be written as JSON. */
export function phaseMachineConfig(rules: Rules): MachineConfig {
  const { table } = rules;
  return {
    id: 'phasegate',
    description: 'Where an agent run is, and which tool calls are legal there.',
    initial: 'IDLE',
    context: {
      maxSteps: rules.maxSteps,
      maxLoopsPerPhase: rules.maxLoopsPerPhase,
      stepCount: 0,
      loopCount: Object.fromEntries(table.phases.map((phase) => [phase, 0])),
      inFlight: 0,
      reason: null,
    },
    states: Object.fromEntries(table.phases.map((phase) => [phase, stateConfig(phase, rules)])),
  };
}

function stateConfig(phase: Phase, rules: Rules): StateConfig {
  const described = DESCRIPTIONS[phase] === undefined ? {} : { description: DESCRIPTIONS[phase] };
  if (isTerminal(phase)) return { ...described, type: 'final' };
  return {
    ...described,
    on: { ...proposals(phase, rules), ...calls(phase, rules), ...ends(phase, rules) },
  } as StateConfig;
}

// A proposal is refused while calls are in flight, and those are in ACTING only.
function proposals(phase: Phase, { table }: Rules): TransitionsConfig {
  return Object.fromEntries(
    table.targetsOf(phase).map((target) => {
      const inFlight = phase === 'ACTING' ? [{ guard: 'callInFlight' }] : [];
      const move =
        target === phase
          ? [
              { guard: 'stepBudgetSpent' },
              {
                guard: { type: 'withinLoopBudget', params: { phase } },
                actions: { type: 'countLoop', params: { phase } },
              },
            ]
          : [{ target, guard: 'withinStepBudget', actions: 'resetLoopCount' }];
      return [`propose.${target}`, [...inFlight, ...move]];
    }),
  ) as TransitionsConfig;
}

function calls(phase: Phase, { table, onToolError }: Rules): TransitionsConfig {
  if (phase !== 'ACTING') {
    if (!table.isLegal(phase, 'ACTING')) return {};
    return {
      'call.start': [
        { target: 'ACTING', guard: 'withinStepBudget', actions: ['resetLoopCount', 'admitCall'] },
      ],
    };
  }
  return {
    'call.start': [
      { guard: 'stepBudgetSpent' },
      {
        guard: { type: 'withinLoopBudget', params: { phase: 'ACTING' } },
        actions: [{ type: 'countLoop', params: { phase: 'ACTING' } }, 'admitCall'],
      },
    ],
    'call.join': [{ guard: 'stepBudgetSpent' }, { guard: 'callInFlight', actions: 'admitCall' }],
    'call.succeed': [
      { target: 'OBSERVING', guard: 'lastCallInFlight', actions: ['endCall', 'countStep', 'resetLoopCount'] },
      { guard: 'callInFlight', actions: ['endCall', 'countStep'] },
    ],
    'call.fail':
      onToolError === 'hold'
        ? [{ guard: 'callInFlight', actions: 'endCall' }]
        : [
            { target: 'OBSERVING', guard: 'lastCallInFlight', actions: ['endCall', 'resetLoopCount'] },
            { guard: 'callInFlight', actions: 'endCall' },
          ],
  } as TransitionsConfig;
}

// Ends are events of the live phases, not of the machine: XState takes those of the machine in a final state too. Nothing
// leads into EXHAUSTED and REJECTED unless the rules say so (SPEC §6.5).
function ends(phase: Phase, { onBudgetExhausted, onRejected }: Rules): TransitionsConfig {
  const inFlight = phase === 'ACTING' ? [{ guard: 'callInFlight' }] : [];
  const exhausted = { target: 'EXHAUSTED', guard: 'stepBudgetSpent', actions: 'keepReason' };
  const looped = {
    target: 'EXHAUSTED',
    guard: { type: 'loopBudgetSpent', params: { phase: 'ACTING' } },
    actions: 'keepReason',
  };
  return {
    ...(onBudgetExhausted === 'terminate' && {
      'run.exhaust': [...inFlight, exhausted, ...(phase === 'ACTING' ? [looped] : [])],
    }),
    ...(onRejected === 'terminate' && {
      'run.reject': [...inFlight, { target: 'REJECTED', actions: 'keepReason' }],
    }),
    'run.finish': [{ target: 'ANSWERING' }],
    'run.abort': [{ target: 'ANSWERING', actions: 'keepReason' }],
  } as TransitionsConfig;
}

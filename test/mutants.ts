/** Machines that are almost right: each breaks one rule, so that whatever checks machines must tell it from the real one. */
import { assign } from 'xstate';
import { type PhaseMachine, phaseMachineConfig, phaseSetup } from '../src/machine.ts';
import type { Rules } from '../src/rules.ts';

type Config = ReturnType<typeof phaseMachineConfig>;
// biome-ignore lint/suspicious/noExplicitAny: a config is edited here in ways that its type forbids.
type Loose = any;

function edited(rules: Rules, edit: (states: Loose) => void): PhaseMachine {
  const config = structuredClone(phaseMachineConfig(rules)) as Config;
  edit(config.states);
  return phaseSetup.createMachine(config) as unknown as PhaseMachine;
}

function withGuard(
  rules: Rules,
  guard: string,
  holds: (context: Loose, params: Loose) => boolean,
): PhaseMachine {
  const guards = { [guard]: ({ context }: Loose, params: Loose) => holds(context, params) };
  return phaseSetup
    .createMachine(phaseMachineConfig(rules))
    .provide({ guards } as Loose) as unknown as PhaseMachine;
}

function withoutAction(rules: Rules, action: string): PhaseMachine {
  return phaseSetup
    .createMachine(phaseMachineConfig(rules))
    .provide({ actions: { [action]: assign({}) } } as Loose) as unknown as PhaseMachine;
}

const OPEN_EDGE = { guard: 'withinStepBudget', actions: 'resetLoopCount' };

/** The mutants by name; each is made from the rules of a default table. */
export const MUTANTS: Readonly<Record<string, (rules: Rules) => PhaseMachine>> = {
  'the step budget is no condition': (rules) => withGuard(rules, 'withinStepBudget', () => true),
  'the loop budget is no condition': (rules) => withGuard(rules, 'withinLoopBudget', () => true),
  'a spent step budget does not stop self-loops': (rules) => withGuard(rules, 'stepBudgetSpent', () => false),
  'calls in flight do not stop proposals': (rules) => withGuard(rules, 'callInFlight', () => false),
  'each end of a call is taken for the last': (rules) => withGuard(rules, 'lastCallInFlight', () => true),
  'one step more than the budget': (rules) =>
    withGuard(
      rules,
      'withinStepBudget',
      (context) => context.stepCount + context.inFlight <= context.maxSteps,
    ),
  'one loop more than the budget': (rules) =>
    withGuard(
      rules,
      'withinLoopBudget',
      (context, { phase }) => context.loopCount[phase] <= context.maxLoopsPerPhase,
    ),
  'calls in flight are not counted as steps': (rules) =>
    withGuard(rules, 'stepBudgetSpent', (context) => context.stepCount >= context.maxSteps),
  'steps are not counted': (rules) => withoutAction(rules, 'countStep'),
  'loops are not counted': (rules) => withoutAction(rules, 'countLoop'),
  'loops are not forgotten': (rules) => withoutAction(rules, 'resetLoopCount'),
  'calls are not taken in': (rules) => withoutAction(rules, 'admitCall'),
  'calls are not let go': (rules) => withoutAction(rules, 'endCall'),
  'an edge is added': (rules) =>
    edited(rules, (states) => {
      states.OBSERVING.on['propose.ACTING'] = { target: 'ACTING', ...OPEN_EDGE };
    }),
  'an edge into a terminal phase is added': (rules) =>
    edited(rules, (states) => {
      states.IDLE.on['propose.EXHAUSTED'] = { target: 'EXHAUSTED', ...OPEN_EDGE };
    }),
  'an edge is missing': (rules) =>
    edited(rules, (states) => {
      delete states.PLANNING.on['propose.ANSWERING'];
    }),
  'an edge leads elsewhere': (rules) =>
    edited(rules, (states) => {
      states.OBSERVING.on['propose.PLANNING'][0].target = 'IDLE';
    }),
  'one edge has lost its guard': (rules) =>
    edited(rules, (states) => {
      delete states.OBSERVING.on['propose.PLANNING'][0].guard;
    }),
  'a failed call is a step': (rules) =>
    edited(rules, (states) => {
      states.ACTING.on['call.fail'][0].actions = ['endCall', 'countStep'];
    }),
  'a good call leaves the run in ACTING': (rules) =>
    edited(rules, (states) => {
      delete states.ACTING.on['call.succeed'][0].target;
    }),
  'a nested call is no loop': (rules) =>
    edited(rules, (states) => {
      states.ACTING.on['call.start'][1].actions = 'admitCall';
    }),
  'a terminal phase is left': (rules) =>
    edited(rules, (states) => {
      states.ANSWERING = { on: { 'propose.PLANNING': { target: 'PLANNING', ...OPEN_EDGE } } };
    }),
};

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { assign, transition } from 'xstate';
import { checkMachine, compilePhase } from '../../src/compile.ts';
import {
  type Budgets,
  createSupervisor,
  type Phase,
  type PhaseContext,
  type PhaseEvent,
  type PhaseMachine,
  phaseSetup,
  type Rules,
  type Supervisor,
} from '../../src/index.ts';
import { phaseMachineConfig } from '../../src/machine.ts';
import { MoveTable, moveTable } from '../../src/move-table.ts';
import { generatePaths } from '../../src/paths/index.ts';
import { anyOptions } from '../diagram/tables.ts';
import { MUTANTS } from '../mutants.ts';
import { byTable, type Counted } from './by-table.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 120_000 });

type Snapshot = ReturnType<PhaseMachine['getInitialSnapshot']>;

const CALLS_AND_ENDS = [
  'call.start',
  'call.join',
  'call.succeed',
  'call.fail',
  'run.finish',
  'run.abort',
  'run.exhaust',
  'run.reject',
] as const;

function countedIn({ value, context: { stepCount, loopCount, inFlight } }: Snapshot): Counted {
  return { phase: String(value), stepCount, loopCount, inFlight };
}

/** Takes an event by XState and by the table. @returns Where both are, or what they say otherwise. */
function both(machine: PhaseMachine, budgets: Budgets, snapshot: Snapshot, event: PhaseEvent) {
  const [next] = transition(machine, snapshot, event);
  const before = countedIn(snapshot);
  const after = byTable(machine, budgets, before, event.type) ?? before;
  return { next, same: JSON.stringify(after) === JSON.stringify(countedIn(next)) };
}

/** Holds every entry of the table against the machine: each phase, with each event, under each condition. */
function compareEntries({ machine, rules }: Supervisor): string[] {
  const { phases } = rules.table;
  const events: PhaseEvent[] = [
    ...phases.map((phase): PhaseEvent => ({ type: `propose.${phase}` })),
    ...CALLS_AND_ENDS.map((type): PhaseEvent => ({ type })),
  ];
  const faults: string[] = [];
  for (const phase of phases) {
    const taken = compilePhase(machine, phase);
    for (const [index, context] of contexts(phases, phase).entries()) {
      const snapshot = machine.resolveState({ value: phase, context });
      for (const event of events) {
        // What a phase does not take at all is asked once.
        if (index > 0 && !taken.has(event.type)) continue;
        if (!both(machine, context, snapshot, event).same) {
          faults.push(`${event.type} in ${JSON.stringify(countedIn(snapshot))}`);
        }
      }
    }
  }
  return faults;
}

/** One context for each condition: both budgets with and without room, no, one and two calls in flight. */
function contexts(phases: readonly Phase[], phase: Phase): PhaseContext[] {
  return [4, 5].flatMap((spent) =>
    [1, 2].flatMap((loops) =>
      [0, 1, 2].map((inFlight) => ({
        maxSteps: 5,
        maxLoopsPerPhase: 2,
        stepCount: spent - inFlight,
        loopCount: Object.fromEntries(phases.map((name) => [name, name === phase ? loops : 1])),
        inFlight,
        reason: null,
      })),
    ),
  );
}

// What the exhaustive comparison, to 6 steps and 3 loops, finds stands in machine-exhaustive.test.ts.
describe('The compiled table equals the machine', () => {
  test('in every entry, for 500 random tables', () => {
    fc.assert(
      fc.property(anyOptions, (options) => {
        const supervisor = createSupervisor(options);
        expect(compareEntries(supervisor)).toEqual([]);
        // And it is of one mind with decide.ts in each phase, or it would throw.
        for (const phase of supervisor.rules.table.phases) void moveTable(supervisor.rules).row(phase).start;
      }),
      { numRuns: 500 },
    );
  });

  test.each(['phases', 'transitions', 'pairs', 'guards'] as const)(
    'along every generated path for %s',
    (cover) => {
      const supervisor = createSupervisor({
        maxSteps: 3,
        maxLoopsPerPhase: 2,
        onBudgetExhausted: 'terminate',
        onRejected: 'terminate',
      });
      const { machine, rules } = supervisor;
      let steps = 0;
      for (const path of generatePaths(supervisor, { cover }).paths) {
        let snapshot = machine.getInitialSnapshot(undefined as never);
        for (const { event } of path.steps) {
          const { next, same } = both(machine, rules, snapshot, { type: event } as PhaseEvent);
          expect(same).toBe(true);
          snapshot = next;
          steps += 1;
        }
      }
      expect(steps).toBeGreaterThan(3);
    },
  );

  test('whatever the budgets are: runs of all of them share one table', () => {
    const small = createSupervisor({ maxSteps: 1 }).rules;
    const large = createSupervisor({ maxSteps: 1000, maxLoopsPerPhase: 0 }).rules;
    expect(moveTable(small)).toBe(moveTable(large));
    expect(moveTable(createSupervisor({ onToolError: 'observe' }).rules)).not.toBe(moveTable(small));
  });
});

/** Every entry of the table of a machine, as text; or why it is refused. */
function tableOf(machine: PhaseMachine, { table }: Rules): string {
  try {
    checkMachine(machine);
    return JSON.stringify(table.phases.map((phase) => [...compilePhase(machine, phase)]));
  } catch (error) {
    return (error as Error).message;
  }
}

describe('A machine that is almost right', () => {
  const { machine, rules } = createSupervisor({ maxSteps: 3, maxLoopsPerPhase: 2 });

  test.each(Object.entries(MUTANTS))('changes the table, or is refused: %s', (_, mutate) => {
    expect(tableOf(mutate(rules), rules)).not.toBe(tableOf(machine, rules));
  });

  // A run would count otherwise, and never more than its budgets allow: this is what the equality above is for.
  const COUNTS_LESS = [
    'loops are not counted',
    'loops are not forgotten',
    'a nested call is no loop',
    'a good call leaves the run in ACTING',
    'each end of a call is taken for the last',
    'an edge leads elsewhere',
  ];

  test.each(Object.entries(MUTANTS).filter(([name]) => !COUNTS_LESS.includes(name)))(
    'is none that runs could live on: %s',
    (_, mutate) => {
      const every = () => {
        const table = new MoveTable(rules, mutate(rules));
        for (const phase of rules.table.phases) void table.row(phase).start;
      };
      expect(every).toThrow(expect.objectContaining({ code: 'uncompilable-machine' }));
    },
  );
});

// biome-ignore lint/suspicious/noExplicitAny: a config is edited here in ways that its type forbids.
type Loose = any;

function compileEdited(edit: (config: Loose) => void, implementations: Loose = {}): () => void {
  const { rules } = createSupervisor();
  const config = structuredClone(phaseMachineConfig(rules)) as Loose;
  edit(config);
  const machine = phaseSetup
    .createMachine(config)
    .provide(implementations as Loose) as unknown as PhaseMachine;
  return () => {
    checkMachine(machine);
    for (const phase of rules.table.phases) compilePhase(machine, phase);
  };
}

describe('A machine that the compiler does not understand is refused, and named', () => {
  const acting = (config: Loose) => config.states.ACTING;
  const cases: [string, string, (config: Loose) => void, Loose?][] = [
    ['an always', 'ACTING has an `always` transition', (c) => (acting(c).always = { target: 'OBSERVING' })],
    ['a delay', 'ACTING has a delay', (c) => (acting(c).after = { 1000: 'OBSERVING' })],
    ['an entry action', 'ACTING has an entry action "countStep"', (c) => (acting(c).entry = 'countStep')],
    ['an exit action', 'ACTING has an exit action "countStep"', (c) => (acting(c).exit = 'countStep')],
    ['an actor', 'ACTING invokes an actor', (c) => (acting(c).invoke = { src: 'agent' })],
    ['an event of its own', 'ACTING has the event "pause"', (c) => (acting(c).on.pause = 'OBSERVING')],
    ['an event for anything', 'ACTING has the event "*"', (c) => (acting(c).on['*'] = 'OBSERVING')],
    [
      'an event of the whole machine',
      'the machine itself has the event "run.abort"',
      (c) => (c.on = { 'run.abort': '.ANSWERING' }),
    ],
    [
      'a guard that it does not know',
      'call.join in ACTING has the guard "isTuesday"',
      (c) => (acting(c).on['call.join'] = { guard: 'isTuesday', actions: 'admitCall' }),
      { guards: { isTuesday: () => true } },
    ],
    [
      'an action that it does not know',
      'call.join in ACTING has the action "sendMail"',
      (c) => (acting(c).on['call.join'] = { guard: 'callInFlight', actions: 'sendMail' }),
      { actions: { sendMail: () => {} } },
    ],
    [
      'an action that does something besides counting',
      'has the action "admitCall", which is none of a phase machine\'s',
      () => {},
      { actions: { admitCall: () => {} } },
    ],
    [
      'an action that raises the budget',
      'the actions of call.succeed in ACTING do what no move of a run does',
      () => {},
      { actions: { countStep: assign({ maxSteps: ({ context }: Loose) => context.maxSteps + 1 }) } },
    ],
    [
      'a guard that answers with a promise',
      'the guard withinStepBudget answered an object instead of a boolean',
      () => {},
      { guards: { withinStepBudget: async () => false } },
    ],
    [
      'a guard that asks for more than the room',
      'depends on more than the room in the budgets and the calls in flight',
      () => {},
      { guards: { withinStepBudget: ({ context }: Loose) => context.stepCount !== 8 } },
    ],
    [
      'a guard on the loops of another phase',
      'depends on more than the room in the budgets and the calls in flight',
      (c) => (acting(c).on['call.start'][1].guard.params.phase = 'PLANNING'),
    ],
    [
      'phases in phases',
      'ACTING is compound instead of atomic',
      (c) => Object.assign(acting(c), { initial: 'ONE', states: { ONE: {} } }),
    ],
    [
      'phases side by side',
      'it is parallel, and its phases exclude each other',
      (c) => (c.type = 'parallel'),
    ],
    ['another beginning', 'it begins in "PLANNING" instead of IDLE', (c) => (c.initial = 'PLANNING')],
    ['a phase that is missing', 'it has no state EXHAUSTED', (c) => delete c.states.EXHAUSTED],
  ];

  test.each(cases)('%s', (_, message, edit, implementations) => {
    expect(compileEdited(edit, implementations)).toThrow(
      expect.objectContaining({ code: 'uncompilable-machine', message: expect.stringContaining(message) }),
    );
  });

  test('and the machine of a supervisor is none of these', () => {
    expect(compileEdited(() => {})).not.toThrow();
  });
});

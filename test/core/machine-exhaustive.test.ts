import { getAdjacencyMap } from '@xstate/graph';
import { describe, expect, test, vi } from 'vitest';
import { type Position, refuseAction, refuseProposal } from '../../src/decide.ts';
import {
  createSupervisor,
  isTerminal,
  type Phase,
  type PhaseContext,
  type PhaseEvent,
  type Rules,
  type SupervisorOptions,
} from '../../src/index.ts';
import { byTable } from './by-table.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

interface State {
  readonly phase: Phase;
  readonly stepCount: number;
  readonly loopCount: Readonly<Record<string, number>>;
  readonly inFlight: number;
  readonly reason: string | null;
}

/**
 * Where the rules lead from a state with an event. What is legal comes from `decide.ts`; `undefined` is a refusal, and
 * then nothing may change.
 */
function expected(rules: Rules, state: State, event: PhaseEvent): State | undefined {
  const { table } = rules;
  const { phase, stepCount, inFlight } = state;
  if (isTerminal(phase)) return undefined;
  const noLoops = Object.fromEntries(table.phases.map((name) => [name, 0]));
  const looped = { ...state.loopCount, [phase]: (state.loopCount[phase] ?? 0) + 1 };
  const at: Position = {
    phase,
    stepCount,
    pending: inFlight,
    childPending: 0,
    loopCount: state.loopCount[phase] ?? 0,
    pendingLoops: 0,
  };
  const call = refuseAction(table, rules, at);
  switch (event.type) {
    case 'call.start': {
      // The machine takes one edge at a time: a longer way to ACTING is walked by proposals first.
      const direct = phase === 'ACTING' || table.isLegal(phase, 'ACTING');
      if (call !== undefined || !direct) return undefined;
      const loopCount = phase === 'ACTING' ? looped : noLoops;
      return { ...state, phase: 'ACTING', loopCount, inFlight: inFlight + 1 };
    }
    case 'call.join':
      if (inFlight === 0 || refuseAction(table, rules, at, true) !== undefined) return undefined;
      return { ...state, inFlight: inFlight + 1 };
    case 'call.succeed':
    case 'call.fail': {
      if (inFlight === 0) return undefined;
      const ok = event.type === 'call.succeed';
      const ended = { ...state, stepCount: stepCount + (ok ? 1 : 0), inFlight: inFlight - 1 };
      const observes = inFlight === 1 && (ok || rules.onToolError === 'observe');
      return observes ? { ...ended, phase: 'OBSERVING', loopCount: noLoops } : ended;
    }
    case 'run.finish':
      return { ...state, phase: 'ANSWERING' };
    case 'run.abort':
      return { ...state, phase: 'ANSWERING', reason: event.reason ?? null };
    case 'run.exhaust': {
      const spent = call === 'step-budget' || call === 'loop-budget';
      const ends = rules.onBudgetExhausted === 'terminate' && inFlight === 0 && spent;
      return ends ? { ...state, phase: 'EXHAUSTED', reason: event.reason ?? null } : undefined;
    }
    case 'run.reject': {
      const ends = rules.onRejected === 'terminate' && inFlight === 0;
      return ends ? { ...state, phase: 'REJECTED', reason: event.reason ?? null } : undefined;
    }
    default: {
      const target = event.type.slice('propose.'.length);
      if (refuseProposal(table, rules, at, target) !== undefined) return undefined;
      return { ...state, phase: target, loopCount: target === phase ? looped : noLoops };
    }
  }
}

function stateOf(snapshot: { readonly value: unknown; readonly context: PhaseContext }): State {
  const { stepCount, loopCount, inFlight, reason } = snapshot.context;
  return { phase: String(snapshot.value), stepCount, loopCount, inFlight, reason };
}

/** Explores the machine of these options to the end, and holds each step against the rules. */
function explore(options: SupervisorOptions) {
  const { machine, rules } = createSupervisor(options);
  const targets = [...rules.table.phases, 'FOO', 'constructor'];
  const events: PhaseEvent[] = [
    ...targets.map((target): PhaseEvent => ({ type: `propose.${target}` })),
    { type: 'call.start' },
    { type: 'call.join' },
    { type: 'call.succeed' },
    { type: 'call.fail' },
    { type: 'run.finish' },
    { type: 'run.abort', reason: 'stop' },
    { type: 'run.exhaust', reason: 'spent' },
    { type: 'run.reject' },
  ];
  const states = Object.values(getAdjacencyMap(machine, { events }));
  const faults: unknown[] = [];
  const faultsOfEnded: unknown[] = [];
  for (const { state: snapshot, transitions } of states) {
    const state = stateOf(snapshot);
    const { stepCount, inFlight, loopCount, phase } = state;
    const reachable =
      snapshot.status === (isTerminal(phase) ? 'done' : 'active') &&
      stepCount + inFlight <= (options.maxSteps ?? 0) &&
      Object.values(loopCount).every((count) => count >= 0 && count <= (options.maxLoopsPerPhase ?? 0)) &&
      (inFlight === 0 || phase === 'ACTING' || phase === 'ANSWERING');
    if (!reachable) faults.push({ fault: 'a state that no run may be in', options, state });
    const taken = Object.values(transitions) as { event: PhaseEvent; state: typeof snapshot }[];
    if (taken.length !== events.length) faults.push({ fault: 'an event was not tried', options, state });
    for (const { event, state: next } of taken) {
      const wanted = expected(rules, state, event) ?? state;
      // What runs live on is the table that is compiled from the machine, so it is held against the machine as well.
      const moved = byTable(machine, rules, state, event.type) ?? state;
      if (!isSame({ ...moved, reason: stateOf(next).reason }, stateOf(next))) {
        faults.push({
          fault: 'the compiled table leads elsewhere',
          options,
          state,
          event: event.type,
          moved,
        });
      }
      if (!isSame(stateOf(next), wanted) || next.status === 'error') {
        const list = isTerminal(phase) ? faultsOfEnded : faults;
        list.push({ options, state, event: event.type, wanted, got: stateOf(next) });
      }
    }
  }
  return { states: states.length, faults: faults.slice(0, 3), faultsOfEnded: faultsOfEnded.slice(0, 3) };
}

function isSame(a: State, b: State): boolean {
  return (
    a.phase === b.phase &&
    a.stepCount === b.stepCount &&
    a.inFlight === b.inFlight &&
    a.reason === b.reason &&
    Object.keys(a.loopCount).length === Object.keys(b.loopCount).length &&
    Object.entries(b.loopCount).every(([phase, count]) => a.loopCount[phase] === count)
  );
}

const BUDGETS = ['0', '1', '2', '3', '4', '5', '6'].flatMap((steps) =>
  ['0', '1', '2', '3'].map((loops) => [steps, loops] as const),
);

describe('Every reachable state of the machine, with every event, agrees with decide.ts', () => {
  test.each(BUDGETS)('the default table with %s steps and %s loops', (steps, loops) => {
    const maxSteps = Number(steps);
    const maxLoopsPerPhase = Number(loops);
    const { states, faults } = explore({ maxSteps, maxLoopsPerPhase });
    expect(faults).toEqual([]);
    // It went to the ends of the budgets: it would have seen a step or a loop too many.
    expect(states).toBeGreaterThan(maxSteps * (maxLoopsPerPhase + 1));
  });

  const tables: [string, SupervisorOptions][] = [
    [
      'self-loops on all phases',
      {
        transitions: [
          ['IDLE', 'IDLE'],
          ['IDLE', 'PLANNING'],
          ['PLANNING', 'PLANNING'],
          ['PLANNING', 'ACTING'],
          ['ACTING', 'ACTING'],
          ['ACTING', 'OBSERVING'],
          ['OBSERVING', 'OBSERVING'],
          ['OBSERVING', 'PLANNING'],
        ],
      },
    ],
    [
      'phases of the user, shortcuts, and ways into REJECTED and EXHAUSTED',
      {
        phases: ['REVIEWING', 'UNREACHED'],
        transitions: [
          ['IDLE', 'ACTING'],
          ['ACTING', 'OBSERVING'],
          ['ACTING', 'REJECTED'],
          ['OBSERVING', 'REVIEWING'],
          ['OBSERVING', 'ACTING'],
          ['REVIEWING', 'REVIEWING'],
          ['REVIEWING', 'ACTING'],
          ['REVIEWING', 'EXHAUSTED'],
        ],
      },
    ],
    ['onToolError: observe', { onToolError: 'observe' }],
    ['both policies terminate', { onBudgetExhausted: 'terminate', onRejected: 'terminate' }],
    [
      'everything at once',
      {
        onToolError: 'observe',
        onBudgetExhausted: 'terminate',
        onRejected: 'terminate',
        transitions: [
          ['IDLE', 'PLANNING'],
          ['PLANNING', 'ACTING'],
          ['ACTING', 'ACTING'],
          ['ACTING', 'OBSERVING'],
          ['OBSERVING', 'ACTING'],
          ['OBSERVING', 'OBSERVING'],
        ],
      },
    ],
    ['ACTING out of reach', { transitions: [['IDLE', 'PLANNING']] }],
  ];
  test.each(tables)('a table with %s', (_, options) => {
    for (const maxSteps of [0, 1, 3]) {
      for (const maxLoopsPerPhase of [0, 2]) {
        expect(explore({ ...options, maxSteps, maxLoopsPerPhase }).faults).toEqual([]);
      }
    }
  });

  // An actor that is done takes no event, but `transition(machine, snapshot, event)` asks the machine itself.
  test('a run that has ended stays as it ended, whatever comes (SPEC §6.1)', () => {
    for (const options of [{}, { onBudgetExhausted: 'terminate', onRejected: 'terminate' }] as const) {
      expect(explore({ ...options, maxSteps: 2, maxLoopsPerPhase: 1 }).faultsOfEnded).toEqual([]);
    }
  });
});

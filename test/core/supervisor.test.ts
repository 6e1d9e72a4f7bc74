import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  DEFAULT_PHASES,
  DEFAULT_TRANSITIONS,
  PhasegateError,
  type RunState,
  type SupervisorOptions,
} from '../../src/index.ts';
import { refusalOf, stateIn } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof PhasegateError) return error.code;
    throw error;
  }
  return 'no error';
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(deepFreeze);
  return value;
}

describe('SPEC §2.3: a budget is a whole number of 0 or more, or Infinity', () => {
  const names = ['maxSteps', 'maxLoopsPerPhase'] as const;
  const bad: [string, unknown][] = [
    ['-1', -1],
    ['1.5', 1.5],
    ['NaN', Number.NaN],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['"20"', '20'],
    ['""', ''],
    ['null', null],
    ['true', true],
    ['a bigint', 5n],
    ['an array', [5]],
    ['an object', { valueOf: () => 5 }],
    ['a symbol', Symbol('5')],
    ['a number too large to count to', 2 ** 53],
  ];
  describe.each(names)('%s', (name) => {
    test.each(bad)('of %s is an error when the supervisor is made, and names the budget', (_, value) => {
      const make = () => createSupervisor({ [name]: value } as SupervisorOptions);
      expect(codeOf(make)).toBe('invalid-budget');
      expect(make).toThrow(new RegExp(`^${name} must be a whole number of 0 or more, or Infinity`));
    });

    test.each([0, 1, 50, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY])('of %s is taken', (value) => {
      expect(createSupervisor({ [name]: value }).rules[name]).toBe(value);
    });
  });

  test('the defaults are 50 steps and 3 loops; undefined is as absent', () => {
    const undefinedOptions = { maxSteps: undefined, maxLoopsPerPhase: undefined, onToolError: undefined };
    for (const options of [undefined, {}, undefinedOptions]) {
      expect(createSupervisor(options).rules).toMatchObject({
        maxSteps: 50,
        maxLoopsPerPhase: 3,
        onToolError: 'hold',
        onBudgetExhausted: 'deny',
        onRejected: 'deny',
      });
    }
  });
});

describe('The other options of a supervisor', () => {
  test.each(['onToolError', 'onBudgetExhausted', 'onRejected'] as const)(
    '%s takes its words only',
    (name) => {
      for (const value of ['', 'HOLD', 'constructor', null, true, 0, ['hold'], ['deny']]) {
        const make = () => createSupervisor({ [name]: value } as SupervisorOptions);
        expect(codeOf(make)).toBe('invalid-argument');
        expect(make).toThrow(name);
      }
    },
  );

  test('options that are no object are a clear error', () => {
    for (const options of [null, 5, 'maxSteps', true]) {
      expect(codeOf(() => createSupervisor(options as never))).toBe('invalid-argument');
    }
  });

  test('options that are frozen, or that have no prototype, are taken', () => {
    const bare: SupervisorOptions = Object.assign(Object.create(null), { maxSteps: 2 });
    expect(createSupervisor(bare).rules.maxSteps).toBe(2);
    const frozen = deepFreeze({ phases: ['REVIEWING'], transitions: [['IDLE', 'REVIEWING']] } as const);
    expect(createSupervisor(frozen).transitions).toEqual([['IDLE', 'REVIEWING']]);
  });
});

describe('SPEC §5.1: the initial state', () => {
  test('is IDLE, all counters at 0, not finished', () => {
    expect(createSupervisor().initialState()).toEqual({
      phase: 'IDLE',
      stepCount: 0,
      loopCount: {},
      inFlight: 0,
      finished: false,
      reason: null,
    });
  });

  test('is a new one each time: what is done to one is not seen in another', () => {
    const supervisor = createSupervisor();
    Object.assign(supervisor.initialState().loopCount, { ACTING: 3 });
    expect(supervisor.initialState().loopCount).toEqual({});
  });
});

describe('SPEC §3: proposeTransition', () => {
  const supervisor = createSupervisor();

  test('answers with the path and the state after it', () => {
    const state = stateIn('OBSERVING', { stepCount: 4, loopCount: { OBSERVING: 2 } });
    expect(supervisor.proposeTransition(state, 'PLANNING')).toEqual({
      allowed: true,
      path: ['OBSERVING', 'PLANNING'],
      state: stateIn('PLANNING', { stepCount: 4 }),
    });
  });

  test('into a terminal phase ends the run', () => {
    expect(supervisor.proposeTransition(stateIn('PLANNING'), 'ANSWERING')).toMatchObject({
      state: { phase: 'ANSWERING', finished: true, reason: null },
    });
  });

  test('to the present phase is a self-loop: it is counted, and the other phases of the state are not', () => {
    const looping = createSupervisor({ maxLoopsPerPhase: 2 });
    looping.addTransition('PLANNING', 'PLANNING');
    const once = looping.proposeTransition(stateIn('PLANNING'), 'PLANNING');
    expect(once).toMatchObject({ path: ['PLANNING', 'PLANNING'], state: { loopCount: { PLANNING: 1 } } });
    const spent = stateIn('PLANNING', { loopCount: { PLANNING: 2, ACTING: 0 } });
    expect(looping.proposeTransition(spent, 'PLANNING')).toMatchObject({ code: 'loop-budget' });
    const elsewhere = stateIn('PLANNING', { loopCount: { ACTING: 2 } });
    expect(looping.proposeTransition(elsewhere, 'PLANNING').allowed).toBe(true);
  });

  test('of ACTING to itself is illegal unless the table says so: the self-loop of §1.5 is for calls', () => {
    expect(supervisor.proposeTransition(stateIn('ACTING'), 'ACTING')).toMatchObject({
      code: 'illegal-transition',
    });
  });

  test.each(['constructor', '__proto__', 'toString', 'a.b', '', 'planning', 'PLANNING '])(
    'to %j is refused as unknown-phase, whatever else is wrong',
    (target) => {
      const spent = createSupervisor({ maxSteps: 0 });
      for (const state of [stateIn('IDLE'), stateIn('ANSWERING'), stateIn('ACTING', { inFlight: 1 })]) {
        expect(spent.proposeTransition(state, target)).toEqual({
          allowed: false,
          code: 'unknown-phase',
          message: `Unknown phase: ${JSON.stringify(target)}`,
        });
      }
    },
  );

  test.each([undefined, null, 5, Symbol('PLANNING'), {}, ['PLANNING']])(
    'to a target that is no text is refused as unknown-phase',
    (target) => {
      const answer = supervisor.proposeTransition(stateIn('IDLE'), target as string);
      expect(answer).toMatchObject({ allowed: false, code: 'unknown-phase' });
    },
  );
});

describe('SPEC §4: validateActionPhase', () => {
  const supervisor = createSupervisor({ maxSteps: 2, maxLoopsPerPhase: 2 });

  test('answers with the whole path, and the state in ACTING; the call is not among those in flight', () => {
    expect(supervisor.validateActionPhase(stateIn('OBSERVING', { stepCount: 1 }))).toEqual({
      allowed: true,
      path: ['OBSERVING', 'PLANNING', 'ACTING'],
      state: stateIn('ACTING', { stepCount: 1 }),
    });
  });

  test('from ACTING it is the self-loop, which is counted', () => {
    const state = stateIn('ACTING', { inFlight: 1, loopCount: { ACTING: 1 } });
    expect(supervisor.validateActionPhase(state)).toEqual({
      allowed: true,
      path: ['ACTING', 'ACTING'],
      state: { ...state, loopCount: { ACTING: 2 } },
    });
  });

  test('counts the calls in flight in the step budget', () => {
    const state = stateIn('ACTING', { stepCount: 1, inFlight: 1 });
    expect(supervisor.validateActionPhase(state)).toMatchObject({ code: 'step-budget' });
  });

  test.each(['constructor', '__proto__', 'toString', 'FOO', ''])(
    'of a state in %j, which is no phase, is refused as unknown-phase; so is a proposal',
    (phase) => {
      expect(supervisor.validateActionPhase(stateIn(phase))).toMatchObject({ code: 'unknown-phase' });
      expect(supervisor.proposeTransition(stateIn(phase), 'IDLE')).toMatchObject({ code: 'unknown-phase' });
    },
  );
});

describe('A supervisor is pure', () => {
  const supervisor = createSupervisor({ maxSteps: 3, maxLoopsPerPhase: 2, phases: ['REVIEWING'] });
  supervisor.addTransition('OBSERVING', 'OBSERVING');
  const count = fc.integer({ min: 0, max: 4 });
  const state = fc
    .record({
      phase: fc.constantFrom(...DEFAULT_PHASES, 'REVIEWING', 'FOO'),
      stepCount: count,
      loopCount: fc.dictionary(fc.constantFrom('ACTING', 'OBSERVING', 'PLANNING'), count),
      inFlight: count,
    })
    .map((some): RunState => stateIn(some.phase, { ...some, loopCount: { ...some.loopCount } }));

  test('it changes no state, also a frozen one, and answers the same each time', () => {
    const target = fc.constantFrom(...DEFAULT_PHASES, 'REVIEWING', 'constructor');
    fc.assert(
      fc.property(state, target, (state, target) => {
        const before = structuredClone(state);
        deepFreeze(state);
        const answers = [supervisor.proposeTransition(state, target), supervisor.validateActionPhase(state)];
        expect(state).toEqual(before);
        expect([supervisor.proposeTransition(state, target), supervisor.validateActionPhase(state)]).toEqual(
          answers,
        );
      }),
    );
  });

  test('a state that it answers with is one that it takes', () => {
    fc.assert(
      fc.property(state, fc.constantFrom(...DEFAULT_PHASES), (state, target) => {
        for (const answer of [
          supervisor.proposeTransition(state, target),
          supervisor.validateActionPhase(state),
        ]) {
          if (answer.allowed) expect(() => supervisor.validateActionPhase(answer.state)).not.toThrow();
        }
      }),
    );
  });

  test('no chain of proposals loops on a phase more often than it may', () => {
    const step = fc.constantFrom('PLANNING', 'ACTING', 'OBSERVING', 'OBSERVING', 'OBSERVING');
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (targets) => {
        let state = supervisor.initialState();
        let inARow = 0;
        for (const target of targets) {
          const answer = supervisor.proposeTransition(state, target);
          if (!answer.allowed) continue;
          inARow = target === state.phase ? inARow + 1 : 0;
          state = answer.state;
          expect(inARow).toBeLessThanOrEqual(2);
          expect(state.loopCount[state.phase] ?? 0).toBe(inARow);
        }
      }),
    );
  });
});

describe('A state may come from anywhere: what cannot be one is invalid-state, and never a larger budget', () => {
  const supervisor = createSupervisor();
  const bad: [string, object | null | undefined][] = [
    ['a negative stepCount', { stepCount: -1 }],
    ['a stepCount of NaN', { stepCount: Number.NaN }],
    ['a stepCount of -Infinity', { stepCount: Number.NEGATIVE_INFINITY }],
    ['a fractional stepCount', { stepCount: 0.5 }],
    ['a stepCount of text', { stepCount: '1' }],
    ['no stepCount', { stepCount: undefined }],
    ['a stepCount of null', { stepCount: null }],
    ['a negative count of calls in flight', { inFlight: -1 }],
    ['calls in flight as text', { inFlight: '0' }],
    ['a fractional count of calls in flight', { inFlight: 1.5 }],
    ['a negative loop count', { phase: 'ACTING', loopCount: { ACTING: -5 } }],
    ['a loop count of NaN', { phase: 'ACTING', loopCount: { ACTING: Number.NaN } }],
    ['a loop count of text', { phase: 'ACTING', loopCount: { ACTING: '0' } }],
    ['loop counts of null', { loopCount: null }],
    ['no loop counts', { loopCount: undefined }],
    ['loop counts of text', { loopCount: 'none' }],
    ['an end in a phase that is not terminal', { finished: true }],
    ['a phase that is a symbol', { phase: Symbol('IDLE') }],
  ];
  test.each(bad)('%s', (_, fault) => {
    const state = { ...supervisor.initialState(), ...fault } as RunState;
    expect(codeOf(() => supervisor.validateActionPhase(state))).toBe('invalid-state');
    expect(codeOf(() => supervisor.proposeTransition(state, 'PLANNING'))).toBe('invalid-state');
  });

  test.each([undefined, null, 5, 'IDLE'])('%j in place of a state', (state) => {
    expect(codeOf(() => supervisor.validateActionPhase(state as never))).toBe('invalid-state');
    expect(codeOf(() => supervisor.proposeTransition(state as never, 'PLANNING'))).toBe('invalid-state');
  });
});

describe('SPEC §1.4: an edit of the table', () => {
  test('holds for runs begun after it; a live run keeps the table that it began with', async () => {
    const supervisor = createSupervisor();
    const enforcement = createEnforcement({ supervisor });
    const before = enforcement.beginRun();
    supervisor.removeTransition('PLANNING', 'ACTING');
    const after = enforcement.beginRun();
    expect(before.validateActionPhase()).toMatchObject({
      allowed: true,
      path: ['IDLE', 'PLANNING', 'ACTING'],
    });
    expect(after.validateActionPhase()).toMatchObject({ allowed: false, code: 'action-unreachable' });
    expect(await before.callTool('search', {}, () => 'found')).toBe('found');
    expect(await refusalOf(after.callTool('search', {}, () => 'found'))).toMatchObject({
      code: 'action-unreachable',
    });
    expect(before.propose('PLANNING').allowed).toBe(true);
    expect(await before.callTool('search', {}, () => 'found')).toBe('found');
  });

  test('holds at once for the decisions of the supervisor itself', () => {
    const supervisor = createSupervisor();
    const { initialState } = supervisor;
    supervisor.addTransition('IDLE', 'ACTING');
    expect(supervisor.validateActionPhase(initialState())).toMatchObject({ path: ['IDLE', 'ACTING'] });
    supervisor.removeTransition('IDLE', 'ACTING');
    expect(supervisor.validateActionPhase(initialState())).toMatchObject({
      path: ['IDLE', 'PLANNING', 'ACTING'],
    });
  });

  test('of one supervisor is not seen by another', () => {
    const supervisor = createSupervisor();
    supervisor.removeTransition('PLANNING', 'ACTING');
    expect(createSupervisor().transitions).toEqual(DEFAULT_TRANSITIONS);
  });
});

describe('SPEC §11.1: the hash', () => {
  test('is short, and equal where table, budgets and policies are equal, however they came about', () => {
    const { hash } = createSupervisor();
    expect(hash).toMatch(/^[0-9a-f]{16}$/);
    const { maxSteps, maxLoopsPerPhase, onToolError, onBudgetExhausted, onRejected } =
      createSupervisor().rules;
    const spelt = { maxSteps, maxLoopsPerPhase, onToolError, onBudgetExhausted, onRejected };
    expect(createSupervisor({ ...spelt, transitions: DEFAULT_TRANSITIONS.toReversed() }).hash).toBe(hash);
    const edited = createSupervisor();
    edited.addTransition('OBSERVING', 'ACTING');
    expect(edited.hash).not.toBe(hash);
    edited.removeTransition('OBSERVING', 'ACTING');
    expect(edited.hash).toBe(hash);
  });

  test('is the same from one version to the next, so that what was saved can be told apart', () => {
    expect(createSupervisor().hash).toMatchInlineSnapshot(`"390527498b8a9f1e"`);
  });

  test('differs where anything that decides differs', () => {
    const variants: SupervisorOptions[] = [
      {},
      { maxSteps: 51 },
      { maxSteps: Number.POSITIVE_INFINITY },
      { maxLoopsPerPhase: 4 },
      { maxSteps: 3, maxLoopsPerPhase: 50 },
      { onToolError: 'observe' },
      { onBudgetExhausted: 'terminate' },
      { onRejected: 'terminate' },
      { phases: ['REVIEWING'] },
      // In the order of declaration, which decides between paths.
      { phases: ['A', 'B'] },
      { phases: ['B', 'A'] },
      { transitions: DEFAULT_TRANSITIONS.slice(1) },
      { transitions: [] },
    ];
    const hashes = variants.map((options) => createSupervisor(options).hash);
    expect(new Set(hashes).size).toBe(variants.length);
  });
});

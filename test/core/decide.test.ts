import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type Budgets,
  type Position,
  type RefusalCode,
  refusalMessage,
  refuseAction,
  refuseProposal,
  withinLoopBudget,
  withinStepBudget,
} from '../../src/decide.ts';
import { DEFAULT_PHASES, DEFAULT_TRANSITIONS, isTerminal } from '../../src/phases.ts';
import { DEFAULT_TABLE, Table } from '../../src/table.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

const SELF_LOOPS = Table.of(
  ['REVIEWING', 'STUCK'],
  [
    ...DEFAULT_TRANSITIONS.filter(([from, to]) => from !== 'OBSERVING' || to !== 'PLANNING'),
    ['ACTING', 'ACTING'],
    ['PLANNING', 'PLANNING'],
    ['OBSERVING', 'REVIEWING'],
    ['REVIEWING', 'REVIEWING'],
    ['REVIEWING', 'PLANNING'],
    ['IDLE', 'STUCK'],
  ],
);

const count = fc.integer({ min: 0, max: 4 });
const budget = fc.oneof(
  { weight: 4, arbitrary: count },
  { weight: 1, arbitrary: fc.constant(Number.POSITIVE_INFINITY) },
);
const anyBudgets: fc.Arbitrary<Budgets> = fc.record({ maxSteps: budget, maxLoopsPerPhase: budget });
const table = fc.constantFrom(DEFAULT_TABLE, SELF_LOOPS);
const phase = fc.constantFrom(...SELF_LOOPS.phases);
const position: fc.Arbitrary<Position> = fc.record({
  phase,
  stepCount: count,
  pending: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: count }),
  childPending: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: count }),
  loopCount: count,
  pendingLoops: fc.oneof({ weight: 2, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: count }),
});

/** The code of the first condition that holds. */
function first(conditions: readonly (readonly [RefusalCode, boolean])[]): RefusalCode | undefined {
  return conditions.find(([, holds]) => holds)?.[0];
}

describe('SPEC §3.1 and §3.2: why a proposal is refused', () => {
  test('the first check that fails is the reason, in the order of the specification', () => {
    const target = fc.constantFrom(...SELF_LOOPS.phases, 'FOO', 'constructor', '__proto__', '');
    fc.assert(
      fc.property(table, anyBudgets, position, target, (table, budgets, at, target) => {
        const expected = first([
          ['unknown-phase', !table.phases.includes(target) || !table.phases.includes(at.phase)],
          ['call-in-flight', at.pending > 0],
          ['step-budget', at.stepCount + at.pending + at.childPending >= budgets.maxSteps],
          ['terminal-phase', isTerminal(at.phase)],
          ['loop-budget', target === at.phase && at.loopCount + at.pendingLoops >= budgets.maxLoopsPerPhase],
          ['illegal-transition', !table.transitions.some(([from, to]) => from === at.phase && to === target)],
        ]);
        expect(refuseProposal(table, budgets, at, target)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('SPEC §4.1 and §4.3: why a call is refused', () => {
  test('the order of the checks is: step budget, terminal phase, loop budget, path', () => {
    fc.assert(
      fc.property(table, anyBudgets, position, fc.boolean(), (table, budgets, at, joins) => {
        const acting = at.phase === 'ACTING';
        const expected = first([
          ['step-budget', at.stepCount + at.pending + at.childPending >= budgets.maxSteps],
          ['terminal-phase', isTerminal(at.phase)],
          ['loop-budget', acting && !joins && at.loopCount + at.pendingLoops >= budgets.maxLoopsPerPhase],
          ['action-unreachable', !acting && table.pathToActing(at.phase) === undefined],
        ]);
        expect(refuseAction(table, budgets, at, joins)).toBe(expected);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('SPEC §2: the two budgets', () => {
  test('there is room while what is spent and what is promised is less than the budget', () => {
    fc.assert(
      fc.property(anyBudgets, count, count, (budgets, spent, promised) => {
        expect(withinStepBudget(budgets, spent, promised)).toBe(spent + promised < budgets.maxSteps);
        expect(withinLoopBudget(budgets, spent, promised)).toBe(spent + promised < budgets.maxLoopsPerPhase);
      }),
    );
  });

  test('a budget of 0 has no room at all, and one of Infinity always', () => {
    const none: Budgets = { maxSteps: 0, maxLoopsPerPhase: 0 };
    expect(withinStepBudget(none, 0, 0)).toBe(false);
    expect(withinLoopBudget(none, 0, 0)).toBe(false);
    const endless: Budgets = {
      maxSteps: Number.POSITIVE_INFINITY,
      maxLoopsPerPhase: Number.POSITIVE_INFINITY,
    };
    expect(withinStepBudget(endless, Number.MAX_SAFE_INTEGER, 1)).toBe(true);
    expect(withinLoopBudget(endless, Number.MAX_SAFE_INTEGER, 1)).toBe(true);
  });

  test('a counter that is no number leaves no room (§9: an internal fault refuses)', () => {
    for (const fault of [Number.NaN, undefined as never, 'many' as never, {} as never]) {
      for (const maximum of [50, Number.POSITIVE_INFINITY]) {
        const budgets: Budgets = { maxSteps: maximum, maxLoopsPerPhase: maximum };
        expect(withinStepBudget(budgets, fault, 0)).toBe(false);
        expect(withinStepBudget(budgets, 0, fault)).toBe(false);
        expect(withinLoopBudget(budgets, fault, 0)).toBe(false);
        expect(withinLoopBudget(budgets, 0, fault)).toBe(false);
      }
      expect(withinStepBudget({ maxSteps: fault, maxLoopsPerPhase: 1 }, 0, 0)).toBe(false);
    }
  });
});

describe('SPEC §3.3: what a refusal says', () => {
  const budgets: Budgets = { maxSteps: 20, maxLoopsPerPhase: 3 };
  const at = (phase: string, rest: Partial<Position> = {}): Position => ({
    phase,
    stepCount: 0,
    pending: 0,
    childPending: 0,
    loopCount: 0,
    pendingLoops: 0,
    ...rest,
  });
  const say = (code: RefusalCode, position: Position, target?: string) =>
    refusalMessage(code, DEFAULT_TABLE, budgets, position, target);

  test('for the step budget: what was executed of what may be, and what is under way', () => {
    expect(say('step-budget', at('OBSERVING', { stepCount: 20 }))).toBe('Step budget exhausted: 20/20');
    expect(say('step-budget', at('ACTING', { stepCount: 19, pending: 1 }))).toBe(
      'Step budget exhausted: 19/20 (1 call in flight)',
    );
    expect(say('step-budget', at('ACTING', { stepCount: 17, pending: 1, childPending: 2 }))).toBe(
      'Step budget exhausted: 17/20 (3 calls in flight)',
    );
  });

  test('for a budget without limit: the word', () => {
    const endless = { maxSteps: Number.POSITIVE_INFINITY, maxLoopsPerPhase: 3 };
    expect(refusalMessage('step-budget', DEFAULT_TABLE, endless, at('IDLE'))).toContain('0/Infinity');
  });

  test('for an illegal transition: what is legal instead', () => {
    expect(say('illegal-transition', at('PLANNING'), 'OBSERVING')).toBe(
      'Illegal transition: PLANNING -> OBSERVING (legal from PLANNING: ACTING, ANSWERING)',
    );
  });

  test('for an unknown phase: the one that is unknown, the target or the present one', () => {
    expect(say('unknown-phase', at('IDLE'), 'FOO')).toBe('Unknown phase: "FOO"');
    expect(say('unknown-phase', at('FOO'), 'IDLE')).toBe('Unknown phase: "FOO"');
  });

  test('every refusal that a decision can make has a message of one line that names no undefined', () => {
    const target = fc.constantFrom(...DEFAULT_PHASES, 'FOO', 'constructor');
    fc.assert(
      fc.property(table, anyBudgets, position, target, (table, budgets, position, target) => {
        const codes = [
          refuseProposal(table, budgets, position, target),
          refuseAction(table, budgets, position),
        ];
        for (const code of codes) {
          if (code === undefined) continue;
          const message = refusalMessage(code, table, budgets, position, target);
          expect(message).toMatch(/^[A-Z].{10,}$/);
          expect(message).not.toMatch(/undefined|NaN|\[object/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('there is none for what no decision on a position refuses', () => {
    for (const code of ['run-completed', 'no-active-run', 'check-refused', 'wait-timeout'] as const) {
      expect(() => say(code, at('IDLE'))).toThrow(code);
    }
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createSupervisor,
  DEFAULT_PHASES,
  type Phase,
  type SupervisorOptions,
  type Transition,
} from '../../src/index.ts';
import { verify } from '../../src/verify/index.ts';
import { fullProduct } from './full-product.ts';

const USERS: readonly Phase[] = ['REVIEWING', 'WAITING'];
const LIVE: readonly Phase[] = ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING', ...USERS];
const ALL: readonly Phase[] = [...DEFAULT_PHASES, ...USERS];

/** All budgets up to 6 steps and 3 loops. */
const BUDGETS = [0, 1, 2, 3, 4, 5, 6].flatMap((maxSteps) =>
  [0, 1, 2, 3].map((maxLoopsPerPhase) => ({ maxSteps, maxLoopsPerPhase })),
);

const transition: fc.Arbitrary<Transition> = fc.tuple(fc.constantFrom(...LIVE), fc.constantFrom(...ALL));

const table: fc.Arbitrary<SupervisorOptions> = fc.record({
  phases: fc.constant(USERS),
  // Often close to the default table, since a wholly random one is mostly unreachable.
  transitions: fc.oneof(
    fc.array(transition, { maxLength: 14 }),
    fc
      .tuple(fc.subarray([...createSupervisor().transitions]), fc.array(transition, { maxLength: 5 }))
      .map(([kept, added]) => [...kept, ...added]),
  ),
  onToolError: fc.constantFrom('hold' as const, 'observe' as const),
});

function compare(options: SupervisorOptions): void {
  const supervisor = createSupervisor(options);
  const truth = fullProduct(supervisor.rules);
  const { phases } = supervisor.rules.table;
  const never = phases.flatMap((from) => phases.map((to) => [from, to] as const));
  const { properties, warnings } = verify(supervisor, { never, alwaysVia: phases });
  const of = (id: string) => {
    const property = properties.find((candidate) => candidate.id === id);
    if (property === undefined) throw new Error(`no property ${id}`);
    return property;
  };
  const leadsNowhere = (phase: Phase) =>
    (phase === 'REJECTED' || phase === 'EXHAUSTED') && !supervisor.transitions.some(([, to]) => to === phase);
  expect(of('phases-reachable').details).toEqual(
    phases
      .filter((phase) => !truth.reached.has(phase) && !leadsNowhere(phase))
      .map((phase) => `${phase} cannot be reached`),
  );
  expect(of('transitions-taken').details).toEqual(truth.neverTaken.map((edge) => `${edge} is never taken`));
  const acting = of('acting-reachable');
  expect(acting.holds).toBe(!truth.stuck);
  expect(acting.details.filter((line) => / not /.test(line)).map((line) => line.split(':')[0])).toEqual(
    phases.filter((phase) => truth.stuckPhases.has(phase)),
  );
  if (truth.stuck) expect(acting.counterexample).toHaveLength(truth.nearestStuck);
  expect(of('no-trap').details.map((line) => line.split(' ')[0])).toEqual(
    expect.arrayContaining(truth.traps),
  );
  expect(of('no-trap').details).toHaveLength(truth.traps.length);
  for (const id of ['ends-are-final', 'step-budget', 'loop-budget', 'rules-kept'])
    expect(of(id).holds).toBe(true);
  for (const [from, to] of never) expect(of(`never ${from} -> ${to}`).holds).toBe(!truth.goes(from, to));
  for (const phase of phases) expect(of(`always-via ${phase}`).holds).toBe(!truth.goesAround(phase));
  const binds = (budget: string) =>
    !warnings.some(({ message }) => message.startsWith(`The ${budget} budget of`));
  expect(binds('step')).toBe(truth.stepBudgetBinds);
  expect(binds('loop')).toBe(truth.loopBudgetBinds);
}

describe('verification cuts the counters, and answers as an exploration of all of them does', () => {
  test.each(BUDGETS)('for the default table with $maxSteps steps and $maxLoopsPerPhase loops', (budgets) => {
    for (const onToolError of ['hold', 'observe'] as const) compare({ ...budgets, onToolError });
  });

  test('for 200 random tables, each with all budgets up to 6 steps and 3 loops', { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(table, (options) => {
        for (const budgets of BUDGETS) compare({ ...options, ...budgets });
      }),
      { numRuns: 200 },
    );
  });

  test('for a phase behind a call, from which the way to an end leads through another call', () => {
    const transitions: Transition[] = [
      ['IDLE', 'ACTING'],
      ['OBSERVING', 'REVIEWING'],
      ['OBSERVING', 'REJECTED'],
      ['REVIEWING', 'IDLE'],
    ];
    for (const budgets of BUDGETS) compare({ phases: USERS, transitions, ...budgets });
  });

  test('for loop budgets on both sides of the cut, where the states past it are the same', () => {
    for (const maxLoopsPerPhase of [4, 5, 6, 7]) {
      const supervisor = createSupervisor({ maxSteps: 5, maxLoopsPerPhase });
      supervisor.removeTransition('ACTING', 'OBSERVING');
      const truth = fullProduct(supervisor.rules);
      const { properties } = verify(supervisor);
      expect(truth.stuck).toBe(true);
      expect(properties.find(({ id }) => id === 'acting-reachable')?.holds).toBe(false);
    }
  });

  test('for no limit at all, where no loop budget is ever spent', () => {
    const supervisor = createSupervisor({
      maxSteps: Number.POSITIVE_INFINITY,
      maxLoopsPerPhase: Number.POSITIVE_INFINITY,
    });
    supervisor.removeTransition('ACTING', 'OBSERVING');
    const { holds, warnings } = verify(supervisor);
    expect(holds).toBe(true);
    expect(warnings.filter(({ id }) => id === 'budget-never-binds')).toHaveLength(2);
  });
});

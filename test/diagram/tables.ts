import fc from 'fast-check';
import { DEFAULT_TRANSITIONS, isTerminal, type SupervisorOptions } from '../../src/index.ts';

/** Options of a supervisor with any table: sparse or dense, with phases of its own, with all policies. */
export const anyOptions: fc.Arbitrary<SupervisorOptions> = fc
  .record({
    phases: fc.uniqueArray(fc.stringMatching(/^[A-Z][A-Z0-9_]{0,14}$/), { maxLength: 8 }),
    maxSteps: fc.oneof(fc.nat(4), fc.constant(Number.POSITIVE_INFINITY)),
    maxLoopsPerPhase: fc.oneof(fc.nat(3), fc.constant(Number.POSITIVE_INFINITY)),
    onToolError: fc.constantFrom('hold', 'observe'),
    onBudgetExhausted: fc.constantFrom('deny', 'terminate'),
    onRejected: fc.constantFrom('deny', 'terminate'),
  })
  .chain((options) => {
    const seven = ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING', 'ANSWERING', 'REJECTED', 'EXHAUSTED'];
    const all = [...new Set([...seven, ...options.phases])];
    const live = all.filter((phase) => !isTerminal(phase));
    const edge = fc.tuple(fc.constantFrom(...live), fc.constantFrom(...all));
    return fc
      .tuple(fc.subarray([...DEFAULT_TRANSITIONS]), fc.uniqueArray(edge, { maxLength: 24, selector: String }))
      .map(([kept, added]) => ({ ...options, transitions: [...kept, ...added] }));
  });

/** Names a table of many phases in a row, with ways back and short cuts. */
export function longTable(): SupervisorOptions {
  const phases = Array.from({ length: 13 }, (_, index) => `STAGE_${index + 1}`);
  const stage = (number: number) => phases[number - 1] as string;
  return {
    phases,
    transitions: [
      ...DEFAULT_TRANSITIONS.filter(([from, to]) => from !== 'OBSERVING' || to !== 'PLANNING'),
      ['OBSERVING', stage(1)],
      ...phases.slice(1).map((phase, index) => [stage(index + 1), phase] as const),
      [stage(13), 'PLANNING'],
      [stage(5), 'ACTING'],
      [stage(9), 'ANSWERING'],
      [stage(4), stage(10)],
      [stage(10), stage(3)],
      [stage(6), stage(6)],
      ['IDLE', stage(1)],
    ],
  };
}

/** A table in which every live phase leads to every phase, and every end is used. */
export function denseTable(): SupervisorOptions {
  const live = ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING'];
  const all = [...live, 'ANSWERING', 'REJECTED', 'EXHAUSTED'];
  return {
    transitions: live.flatMap((from) => all.map((to) => [from, to] as const)),
    onBudgetExhausted: 'terminate',
    onRejected: 'terminate',
  };
}

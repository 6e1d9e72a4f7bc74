import fc from 'fast-check';
import {
  type Call,
  createEnforcement,
  createSupervisor,
  type Enforcement,
  Refusal,
  type Run,
  type SavedRun,
  type SupervisorOptions,
} from '../../src/index.ts';
import { anyOptions } from '../diagram/tables.ts';

export const KEY = 'a secret of 16 bytes or more';

/** What is done to a few runs that lie in each other. Numbers pick one of what there is at that moment. */
export type Op =
  | { readonly do: 'begin'; readonly run: number; readonly call: number; readonly budget: 'shared' | 'own' }
  | { readonly do: 'call'; readonly run: number; readonly inside: number | null }
  | { readonly do: 'end'; readonly run: number; readonly call: number; readonly ok: boolean }
  | { readonly do: 'propose'; readonly run: number; readonly target: number }
  | { readonly do: 'finish' | 'abort'; readonly run: number };

export const pick = fc.nat(100);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('begin' as const),
      run: pick,
      call: pick,
      budget: fc.constantFrom('shared' as const, 'shared' as const, 'own' as const),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('call' as const), run: pick, inside: fc.option(pick) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('end' as const), run: pick, call: pick, ok: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('propose' as const), run: pick, target: pick }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom('finish' as const, 'abort' as const), run: pick }),
  },
);
export const ops = fc.array(op, { maxLength: 30, size: 'max' });

export const setting = fc.record({
  options: fc.oneof(anyOptions, fc.record({ maxSteps: fc.nat(8), maxLoopsPerPhase: fc.nat(3) })),
  dfa: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});

export function enforcementOf({ options, dfa }: { options: SupervisorOptions; dfa: boolean }): Enforcement {
  return createEnforcement({
    supervisor: createSupervisor(options),
    parallel: 'concurrent',
    enabledChecks: dfa ? ['dfa'] : [],
  });
}

export function among<T>(all: readonly T[], number: number): T | undefined {
  return all[number % Math.max(1, all.length)];
}

/** Does it, and says what came of it. */
export function perform(enforcement: Enforcement, runs: Run[], op: Op): string {
  const run = among(runs, op.run);
  if (run === undefined) return 'there is no such run';
  switch (op.do) {
    case 'begin': {
      const parent = among(run.callsInFlight, op.call);
      if (parent === undefined || runs.length > 4) return 'no';
      runs.push(enforcement.beginRun({ id: `r${runs.length}`, parent, budget: op.budget }));
      return `r${runs.length}`;
    }
    case 'call': {
      const parent = op.inside === null ? null : (among(run.callsInFlight, op.inside) ?? null);
      const answer = run.admit('tool', {}, { parent });
      return answer instanceof Refusal ? answer.message : (answer as Call).id;
    }
    case 'end': {
      const call = among(run.callsInFlight, op.call);
      if (call === undefined) return 'no';
      if (op.ok) run.afterCall(call);
      else run.failCall(call);
      return call.id;
    }
    case 'propose': {
      const phases = enforcement.supervisor.rules.table.phases;
      return JSON.stringify(run.propose(among(phases, op.target) ?? 'FOO'));
    }
    case 'finish':
      run.finish();
      return 'finished';
    case 'abort':
      run.abort('the agent gave up');
      return 'aborted';
  }
}

export function stored(saved: SavedRun): SavedRun {
  return JSON.parse(JSON.stringify(saved));
}

/**
 * All runs as resumed elsewhere, the outer ones first.
 *
 * @param interrupts Whether the calls of which run are interrupted.
 */
export function resumed(
  enforcement: Enforcement,
  runs: readonly Run[],
  interrupts: (index: number) => boolean = () => false,
): Run[] {
  const back: Run[] = [];
  runs
    .map((run) => stored(run.save({ key: KEY })))
    .forEach((saved, index) => {
      const parent = back.find(({ id }) => id === saved.parent?.run) ?? null;
      const inFlight = interrupts(index) ? 'interrupt' : 'keep';
      back.push(enforcement.resumeRun(saved, { key: KEY, inFlight, parent }));
    });
  return back;
}

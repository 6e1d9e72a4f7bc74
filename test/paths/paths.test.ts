import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  DEFAULT_TRANSITIONS,
  type SupervisorOptions,
} from '../../src/index.ts';
import {
  actorAdapter,
  type Cover,
  enforcementAdapter,
  generatePaths,
  type PathAdapter,
  testPath,
  testPaths,
} from '../../src/paths/index.ts';
import { supervisorAdapter } from './supervisor-adapter.ts';

const COVERS: readonly Cover[] = ['phases', 'transitions', 'pairs', 'guards'];

const SUPERVISORS: Readonly<Record<string, SupervisorOptions>> = {
  'the default table': {},
  'small budgets': { maxSteps: 3, maxLoopsPerPhase: 1 },
  'budgets of 0': { maxSteps: 0, maxLoopsPerPhase: 0 },
  'no limits': { maxSteps: Number.POSITIVE_INFINITY, maxLoopsPerPhase: Number.POSITIVE_INFINITY },
  'failures that are observations': { onToolError: 'observe', maxSteps: 7 },
  'a phase and a self-loop of the user': {
    maxSteps: 40,
    maxLoopsPerPhase: 2,
    phases: ['REVIEWING'],
    transitions: [
      ...DEFAULT_TRANSITIONS,
      ['OBSERVING', 'REVIEWING'],
      ['REVIEWING', 'REVIEWING'],
      ['REVIEWING', 'PLANNING'],
    ],
  },
  'one visit to ACTING': {
    maxSteps: 30,
    transitions: [
      ['IDLE', 'ACTING'],
      ['OBSERVING', 'ANSWERING'],
    ],
  },
};

describe.each(Object.entries(SUPERVISORS))('with %s', (_, options) => {
  const supervisor = createSupervisor(options);

  describe.each(COVERS)('the paths that cover %s', (cover) => {
    const { paths } = generatePaths(supervisor, { cover });

    test('are followed by the enforcement', async () => {
      await testPaths(paths, enforcementAdapter(createEnforcement({ supervisor })));
    });

    test('are followed by the bare actor', async () => {
      await testPaths(paths, actorAdapter(supervisor.machine));
    });

    test('are followed by the pure supervisor', async () => {
      await testPaths(paths, supervisorAdapter(supervisor));
    });
  });
});

describe('the paths of the default table', () => {
  const supervisor = createSupervisor();

  test('take every transition, and each in the state that the path says', () => {
    const { paths, uncovered } = generatePaths(supervisor, { cover: 'transitions' });
    const taken = new Set<string>();
    for (const { steps } of paths) {
      let from = 'IDLE';
      for (const { event, state } of steps) {
        if (event.startsWith('propose.')) taken.add(`${from} -> ${state.phase}`);
        from = state.phase;
      }
    }
    expect([...taken].sort()).toEqual(DEFAULT_TRANSITIONS.map(([from, to]) => `${from} -> ${to}`).sort());
    expect(uncovered).toEqual([]);
  });

  test('are refused for each reason that a run can meet', () => {
    const { paths } = generatePaths(supervisor, { cover: 'guards' });
    const codes = new Set(paths.flatMap(({ steps }) => steps.map(({ code }) => code)));
    expect([...codes].sort()).toEqual(
      ['call-in-flight', 'illegal-transition', 'loop-budget', 'step-budget', 'terminal-phase', null].sort(),
    );
  });

  test('refuse the 51st call, after 50 that ended well', () => {
    const { paths } = generatePaths(supervisor, { cover: 'guards' });
    const refused = paths.flatMap(({ steps }) => steps.filter(({ code }) => code === 'step-budget'));
    expect(refused.map(({ state }) => state.stepCount + state.inFlight)).toEqual(refused.map(() => 50));
    expect(refused.length).toBeGreaterThan(0);
  });

  test('say what no run can do, and why', () => {
    expect(generatePaths(supervisor, { cover: 'phases' }).uncovered).toEqual([
      { goal: 'REJECTED', why: 'REJECTED cannot be reached from IDLE' },
      { goal: 'EXHAUSTED', why: 'EXHAUSTED cannot be reached from IDLE' },
    ]);
    const unlimited = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
    expect(generatePaths(unlimited, { cover: 'guards' }).uncovered).toContainEqual({
      goal: 'call.start in ACTING: refused, step-budget',
      why: 'the step budget has no limit',
    });
  });

  test('are the same each time', () => {
    expect(generatePaths(supervisor, { cover: 'pairs' })).toEqual(
      generatePaths(createSupervisor(), { cover: 'pairs' }),
    );
  });
});

describe('an adapter that does not follow the path', () => {
  const supervisor = createSupervisor({ maxSteps: 2 });
  const [path] = generatePaths(supervisor, { cover: 'transitions' }).paths;
  const right = enforcementAdapter(createEnforcement({ supervisor }));

  test('fails at the step that came out otherwise, which the error names', async () => {
    if (path === undefined) throw new Error('no path');
    const wrong: PathAdapter<Awaited<ReturnType<typeof right.begin>>> = {
      ...right,
      perform: (run, event) => (event === 'propose.ACTING' ? { allowed: false } : right.perform(run, event)),
    };
    await expect(testPath(path, wrong)).rejects.toThrow(
      'step 2: expected to be allowed, got to be refused\n  after propose.PLANNING, propose.ACTING',
    );
  });

  test('still gets to end its run', async () => {
    if (path === undefined) throw new Error('no path');
    let ended = 0;
    const adapter: PathAdapter<null> = {
      begin: () => null,
      perform: () => ({ allowed: false }),
      state: () => ({ phase: 'IDLE', stepCount: 0, loopCount: 0, inFlight: 0 }),
      end: () => {
        ended += 1;
      },
    };
    await expect(testPath(path, adapter)).rejects.toMatchObject({ code: 'path-mismatch' });
    expect(ended).toBe(1);
  });
});

test('what cannot be covered is refused by name', () => {
  const cover = 'everything' as Cover;
  expect(() => generatePaths(createSupervisor(), { cover })).toThrow(
    "cover must be 'phases' or 'transitions' or 'pairs' or 'guards', got \"everything\"",
  );
});

test('with parallel: concurrent calls that join others are driven too', async () => {
  const supervisor = createSupervisor({ maxSteps: 3 });
  const { paths } = generatePaths(supervisor, { cover: 'pairs', parallel: 'concurrent' });
  expect(paths.some(({ steps }) => steps.some(({ event }) => event === 'call.join'))).toBe(true);
  await testPaths(paths, enforcementAdapter(createEnforcement({ supervisor, parallel: 'concurrent' })));
  await testPaths(paths, actorAdapter(supervisor.machine));
});

import { describe, expect, test } from 'vitest';
import { createSupervisor } from '../../src/index.ts';
import { createPhaseMachine } from '../../src/machine.ts';
import { actorAdapter, generatePaths, testPaths } from '../../src/paths/index.ts';
import { verifyMachine } from '../../src/verify/verify.ts';
import { MUTANTS } from '../mutants.ts';

const supervisor = createSupervisor({ maxSteps: 4, maxLoopsPerPhase: 2 });
const paths = (['pairs', 'guards'] as const).flatMap((cover) => generatePaths(supervisor, { cover }).paths);

describe('a machine that breaks one rule', () => {
  test('is told from the right one, which passes', async () => {
    expect(await testPaths(paths, actorAdapter(supervisor.machine))).toBeGreaterThan(0);
    expect(verifyMachine(supervisor.rules, {}, createPhaseMachine).holds).toBe(true);
  });

  describe.each(Object.entries(MUTANTS))('%s', (_, mutate) => {
    test('is caught by the generated paths', async () => {
      const driven = testPaths(paths, actorAdapter(mutate(supervisor.rules)));
      await expect(driven).rejects.toMatchObject({ code: 'path-mismatch' });
    });

    test('is caught by the verification, which shows the way to the fault', () => {
      const { holds, properties } = verifyMachine(supervisor.rules, {}, mutate);
      expect(holds).toBe(false);
      expect(properties.find(({ id }) => id === 'rules-kept')?.counterexample?.length).toBeGreaterThan(0);
    });
  });
});

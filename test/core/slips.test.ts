import { describe, expect, test } from 'vitest';
import { createEnforcement, createSupervisor, loadConfig, parseConfig } from '../../src/index.ts';

// What JavaScript lets through, and what would leave the tools with the default budget instead of the one that was meant.
describe('A slip in the options is told at once', () => {
  const supervisor = createSupervisor({ maxSteps: 1 });
  const cases: [string, () => unknown, string][] = [
    ['a supervisor in place of options', () => createEnforcement(supervisor as never), '{ supervisor }'],
    [
      'a budget in the wrong place',
      () => createEnforcement({ maxSteps: 1 } as never),
      'createSupervisor({ maxSteps })',
    ],
    [
      'a configuration in place of options',
      () => createEnforcement({ agentProfile: {} } as never),
      'no option "agentProfile"',
    ],
    ['a name of a budget', () => createSupervisor({ maxstep: 1 } as never), 'no option "maxstep"'],
    [
      'a name of a deadline',
      () => createEnforcement().beginRun({ timeout: 5 } as never),
      'no option "timeout"',
    ],
    [
      'a promise of a configuration',
      () => parseConfig(loadConfig('no-such-file.yaml').catch(() => ({}))),
      'a promise is to be awaited',
    ],
    ['a list', () => createEnforcement([] as never), 'must be an object'],
    ['a map', () => createSupervisor(new Map() as never), 'must be an object'],
    [
      'a budget of a supervisor of its own that is no count',
      () =>
        createEnforcement({
          supervisor: { ...supervisor, rules: { ...supervisor.rules, maxSteps: '5' } } as never,
        }),
      'what createSupervisor returns',
    ],
  ];

  test.each(cases)('%s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
  });

  test('nobody changes the budgets of live runs (SPEC §1.4)', () => {
    expect(() => Object.assign(supervisor.rules, { maxSteps: 100 })).toThrow(TypeError);
    expect(supervisor.rules.maxSteps).toBe(1);
  });
});

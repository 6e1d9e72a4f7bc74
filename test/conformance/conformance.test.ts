import { describe, expect, test } from 'vitest';
import {
  type Call,
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  type Run,
} from '../../src/index.ts';
import { FILES, play, type Scenario, scenariosOf } from './play.ts';

/** Plays a scenario in an enforcement of its own. */
function playLocally({ options, steps }: Scenario) {
  const { enabledChecks, parallel, table = {}, ...rules } = options;
  const supervisor = createSupervisor({ ...rules, phases: table.phases });
  for (const [from, to] of table.remove ?? []) supervisor.removeTransition(from, to);
  for (const [from, to] of table.add ?? []) supervisor.addTransition(from, to);
  const enforcement = createEnforcement({ supervisor, enabledChecks, parallel });
  return play<Run, Call>(steps, {
    beginRun: () => enforcement.beginRun(),
    stateOf: (run: Run) => run.state,
    refusal: findToolExecutionBlocked,
  });
}

describe.each(FILES)('%s', (file) => {
  test.each(scenariosOf(file).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_, scenario) => {
      const answers = await playLocally(scenario);
      scenario.steps.forEach(({ expect: expected }, i) => {
        const answer = answers[i];
        const { message, ...rest } = expected;
        expect({ step: i, ...answer }).toMatchObject({ step: i, ...rest });
        expect(answer?.state.loopCount).toEqual(expected.state.loopCount);
        if (message !== undefined) expect(answer?.message).toContain(message);
      });
    },
  );
});

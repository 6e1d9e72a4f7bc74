import { findToolExecutionBlocked } from 'phasegate';
import { type RemoteCall, type RemoteRun, remoteEnforcement } from 'phasegate/restate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { FILES, play, type Scenario, scenariosOf } from '../../test/conformance/play.ts';
import { type Cluster, type ServedObject, startCluster } from './processes.mjs';

/** Each scenario has rules of its own, so each has an object of its own. */
const scenarios = FILES.flatMap((file) => scenariosOf(file)).map(
  (scenario, index) => [scenario.name, scenario, `scenario-${index}`] as const,
);

function objectFor({ options }: Scenario, name: string): ServedObject {
  const { enabledChecks, parallel, table = {}, ...rules } = options;
  const { phases, ...edits } = table;
  const enforcement = { ...(enabledChecks && { enabledChecks }), ...(parallel && { parallel }) };
  return { name, supervisor: { ...rules, ...(phases && { phases }) }, table: edits, enforcement };
}

describe('the scenarios of the specification', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster(scenarios.map(([, scenario, name]) => objectFor(scenario, name)));
  }, 60_000);
  afterAll(() => cluster.stop());

  test.concurrent.each(scenarios)('%s', async (_, { steps }, object) => {
    const enforcement = remoteEnforcement({ ingress: cluster.ingress, object, timeoutMs: 20_000 });
    const answers = await play<RemoteRun, RemoteCall>(steps, {
      beginRun: () => enforcement.beginRun(),
      stateOf: (run: RemoteRun) => run.state(),
      refusal: findToolExecutionBlocked,
    });
    steps.forEach(({ expect: expected }, i) => {
      const answer = answers[i];
      const { message, ...rest } = expected;
      expect({ step: i, ...answer }).toMatchObject({ step: i, ...rest });
      expect(answer?.state.loopCount).toEqual(expected.state.loopCount);
      if (message !== undefined) expect(answer?.message).toContain(message);
    });
  });
});

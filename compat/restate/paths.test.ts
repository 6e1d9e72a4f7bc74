import { createSupervisor, findToolExecutionBlocked } from 'phasegate';
import { generatePaths, type Outcome, type PathAdapter, testPath } from 'phasegate/paths';
import {
  type RemoteCall,
  type RemoteEnforcement,
  type RemoteRun,
  remoteEnforcement,
} from 'phasegate/restate';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type Cluster, startCluster } from './processes.mjs';

const RULES = { maxSteps: 3, maxLoopsPerPhase: 1 };

interface Driven {
  readonly run: RemoteRun;
  readonly calls: RemoteCall[];
}

/** Two machines take turns: each event comes from the other one. */
function adapter(machines: readonly RemoteEnforcement[]): PathAdapter<Driven[]> {
  let turn = 0;
  return {
    begin: async () => {
      const [first, ...others] = machines;
      const run = (await first?.beginRun({ parent: null })) as RemoteRun;
      const joined = await Promise.all(others.map((machine) => machine.joinRun(run.address)));
      const calls: RemoteCall[] = [];
      return [run, ...joined].map((one) => ({ run: one, calls }));
    },
    perform: (driven, event) => {
      turn += 1;
      return perform(driven, driven[turn % driven.length]?.run as RemoteRun, event);
    },
    state: async ([driven]) => {
      const { phase, stepCount, loopCount, inFlight } = await (driven as Driven).run.state();
      return { phase, stepCount, loopCount: loopCount[phase] ?? 0, inFlight };
    },
    end: async ([driven]) => driven?.run.finish(),
  };
}

async function perform([driven]: readonly Driven[], run: RemoteRun, event: string): Promise<Outcome> {
  const { calls } = driven as Driven;
  if (event.startsWith('propose.')) {
    const decision = await run.propose(event.slice('propose.'.length));
    return decision.allowed ? { allowed: true } : { allowed: false, code: decision.code };
  }
  if (event === 'call.start' || event === 'call.join') {
    const parent = event === 'call.start' ? (calls.at(-1)?.address ?? null) : null;
    try {
      calls.push(await run.beforeCall('tool', undefined, { parent }));
      return { allowed: true };
    } catch (error) {
      const blocked = findToolExecutionBlocked(error);
      if (blocked === undefined) throw error;
      return { allowed: false, code: blocked.code };
    }
  }
  const call = calls.pop();
  if (call === undefined) return { allowed: false };
  // A call is ended by the machine that made it.
  if (event === 'call.succeed') await call.run.afterCall(call);
  else await call.run.failCall(call, new Error('the tool failed'));
  return { allowed: true };
}

describe.each(['serialize', 'concurrent'] as const)('generated paths, %s', (parallel) => {
  let cluster: Cluster;
  let machines: RemoteEnforcement[];
  beforeAll(async () => {
    cluster = await startCluster([{ supervisor: RULES, enforcement: { parallel } }], 2);
    const options = { ingress: cluster.ingress, timeoutMs: 20_000 };
    machines = [remoteEnforcement(options), remoteEnforcement(options)];
  }, 60_000);
  afterAll(() => cluster.stop());

  const supervisor = createSupervisor(RULES);
  const paths = (['pairs', 'guards'] as const).flatMap(
    (cover) => generatePaths(supervisor, { cover, parallel }).paths,
  );
  test.concurrent.each(paths.map((path, index) => [`${index + 1}: ${path.name}`, path] as const))(
    '%s',
    { timeout: 60_000 },
    async (_, path) => testPath(path, adapter(machines)),
  );
});

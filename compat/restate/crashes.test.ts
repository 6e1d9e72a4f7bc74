import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { remoteEnforcement } from 'phasegate/restate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Orders } from './agents.mjs';
import { Child, type Cluster, startCluster, until } from './processes.mjs';

const RUNS = 50;
const MAX_STEPS = 50;
/** From each of two machines: 3,000 together, of which the budgets allow 2,500. */
const CALLS_PER_RUN = 30;

describe('3,000 calls from two machines, while services and the server die', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster([{ supervisor: { maxSteps: MAX_STEPS } }], 2);
  }, 60_000);
  afterAll(() => cluster.stop());

  function machine(name: string, orders: Omit<Orders, 'ingress' | 'bodies' | 'outcomes'>) {
    const file = (what: string) => join(cluster.folder, `${name}.${what}`);
    const [bodies, outcomes] = [file('bodies'), file('outcomes')];
    writeFileSync(bodies, '');
    writeFileSync(file('orders'), JSON.stringify({ ...orders, ingress: cluster.ingress, bodies, outcomes }));
    const program = fileURLToPath(new URL('agents.mjs', import.meta.url));
    const child = new Child(process.execPath, [program, file('orders')]);
    child.start();
    return {
      ended: () => child.ended(),
      bodies: () => readFileSync(bodies, 'utf8').split('\n').slice(0, -1),
      outcomes: () => JSON.parse(readFileSync(outcomes, 'utf8')) as Record<string, number>,
    };
  }

  test('no budget is passed, no step is lost, and none is charged twice', { timeout: 180_000 }, async () => {
    const enforcement = remoteEnforcement({ ingress: cluster.ingress, timeoutMs: 30_000 });
    const runs = await Promise.all(Array.from({ length: RUNS }, () => enforcement.beginRun()));
    const orders = {
      runs: runs.map(({ id }) => id),
      timeoutMs: 30_000,
      callsPerRun: CALLS_PER_RUN,
      bodyMs: 0,
    };
    const machines = [machine('one', orders), machine('two', orders)];
    const ran = () => machines.flatMap(({ bodies }) => bodies());

    await until('a fifth has run', () => ran().length > 500, 120_000);
    await cluster.services[0]?.child.kill();
    await until('two fifths have run', () => ran().length > 1000, 120_000);
    await cluster.services[0]?.start();
    await cluster.services[1]?.child.kill();
    await until('three fifths have run', () => ran().length > 1500, 120_000);
    await cluster.server.child.kill();
    await cluster.server.start();
    await until('four fifths have run', () => ran().length > 2000, 120_000);
    const all = [cluster.server, ...cluster.services];
    await Promise.all(all.map(({ child }) => child.kill()));
    await Promise.all(all.map((one) => one.start()));
    expect(await Promise.all(machines.map(({ ended }) => ended()))).toEqual([0, 0]);

    const bodies = ran();
    for (const run of runs) {
      const { stepCount, inFlight } = await run.state();
      expect({ id: run.id, stepCount, inFlight }).toEqual({ id: run.id, stepCount: MAX_STEPS, inFlight: 0 });
      expect(bodies.filter((id) => id === run.id)).toHaveLength(MAX_STEPS);
    }
    const outcomes = machines.map((one) => one.outcomes());
    const total = (what: string) => outcomes.reduce((sum, counts) => sum + (counts[what] ?? 0), 0);
    expect(total('ran')).toBe(RUNS * MAX_STEPS);
    expect(total('step-budget')).toBe(RUNS * (2 * CALLS_PER_RUN - MAX_STEPS));
    expect(total('undelivered')).toBe(0);
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findToolExecutionBlocked, RunAbortedError } from 'phasegate';
import { type RemoteEnforcement, type RemoteOptions, remoteEnforcement } from 'phasegate/restate';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Child, type Cluster, startCluster, until } from './processes.mjs';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster(
    [
      {},
      { name: 'five', supervisor: { maxSteps: 5 } },
      { name: 'checked', checks: ['no-mail', 'throws-at-night'] },
      { name: 'impatient', enforcement: { waitTimeoutMs: 300 } },
      { name: 'leased', options: { leaseMs: 3000 } },
      { name: 'forgetful', options: { idleMs: 1500, retentionMs: 1500 } },
      { name: 'signed', options: { key: 'sixteen bytes or more' } },
    ],
    2,
  );
}, 60_000);
afterAll(() => cluster.stop());

function machine(options: Partial<RemoteOptions> = {}): RemoteEnforcement {
  return remoteEnforcement({ ingress: cluster.ingress, timeoutMs: 10_000, ...options });
}

async function refusalOf(call: Promise<unknown>) {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const { code, message } = findToolExecutionBlocked(error) ?? { code: String(error) };
  return { code, message };
}

const nothing = () => {};

describe('a run in use on two machines', () => {
  test('has one budget', async () => {
    const [one, two] = [machine({ object: 'five' }), machine({ object: 'five' })];
    const here = await one.beginRun();
    const there = await two.joinRun(here.id);
    for (const run of [here, there, here, there, here]) await run.callTool('search', {}, nothing);
    expect(await refusalOf(there.callTool('search', {}, nothing))).toEqual({
      code: 'step-budget',
      message: 'Step budget exhausted: 5/5',
    });
  });

  test('makes one call after another, first come first served, from wherever they come', async () => {
    let inLine = 0;
    const counting: typeof fetch = (url, init) => {
      if (String(url).endsWith('/awaitTurn')) inLine += 1;
      return fetch(url, init);
    };
    const machines = [machine({ fetch: counting }), machine({ fetch: counting })];
    const first = await (machines[0] as RemoteEnforcement).beginRun();
    const runs = await Promise.all(machines.map((one) => one.joinRun(first.id)));
    const order: number[] = [];
    const long = await first.beforeCall('long');
    const calls: Promise<void>[] = [];
    for (let i = 0; i < 6; i++) {
      calls.push((runs[i % 2] as typeof first).callTool('next', { i }, () => void order.push(i)));
      await until(`call ${i} is in line`, () => inLine === i + 1);
    }
    expect(order).toEqual([]);
    await first.afterCall(long);
    await Promise.all(calls);
    expect(order).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await first.state()).toMatchObject({ stepCount: 7, inFlight: 0, phase: 'OBSERVING' });
  });

  test('refuses a call that has waited for too long, and serves the next', async () => {
    const run = await machine({ object: 'impatient' }).beginRun();
    const long = await run.beforeCall('long');
    expect(await refusalOf(run.callTool('next', {}, nothing))).toEqual({
      code: 'wait-timeout',
      message: 'Cannot call next: waited 300 ms for long, which is still running',
    });
    await run.afterCall(long);
    await run.callTool('next', {}, nothing);
    expect((await run.state()).stepCount).toBe(2);
  });

  test('refuses calls everywhere once it is aborted anywhere, those in line at once', async () => {
    const here = await machine().beginRun();
    const there = await machine().joinRun(here.id);
    const long = await here.beforeCall('long');
    const inLine = refusalOf(there.callTool('next', {}, nothing));
    await sleep(50);
    await here.abort('enough');
    const refusal = {
      code: 'run-completed',
      message: 'Cannot call next: agent run is already completed: enough',
    };
    expect(await inLine).toEqual(refusal);
    expect(there.signal.reason).toBeInstanceOf(RunAbortedError);
    expect(await refusalOf(there.callTool('next', {}, nothing))).toEqual(refusal);
    await here.afterCall(long);
    expect(await there.state()).toMatchObject({ phase: 'ANSWERING', stepCount: 0, reason: 'enough' });
  });
});

describe('calls and runs inside of others, on other machines', () => {
  test('a call from a body is nested wherever it is made, and does not wait', async () => {
    const here = await machine().beginRun();
    const outer = await here.beforeCall('research');
    const there = await machine().joinRun(outer.address);
    const parent = JSON.parse(JSON.stringify(outer.address));
    expect(await there.callTool('search', {}, () => 'a page', { parent })).toBe('a page');
    await here.afterCall(outer);
    expect((await here.state()).stepCount).toBe(2);
  });

  test('child runs spend the budget of the run around them, on however many machines', async () => {
    const root = await machine({ object: 'five' }).beginRun();
    const call = await root.beforeCall('delegate');
    const outcomes = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const child = await machine({ object: 'five' }).beginRun({ parent: call.address });
        return refusalOf(child.callTool('search', {}, () => sleep(20)));
      }),
    );
    const codes = outcomes.map(({ code }) => code).sort();
    // The call that they are inside of has reserved the fifth.
    expect(codes.filter((code) => code === 'undefined')).toHaveLength(4);
    expect(outcomes.filter(({ code }) => code === 'step-budget').map(({ message }) => message)).toEqual([
      expect.stringMatching(/^Step budget exhausted: \d\/5 \(parent run\)/),
      expect.stringMatching(/^Step budget exhausted: \d\/5 \(parent run\)/),
    ]);
    await root.afterCall(call);
    expect(await root.state()).toMatchObject({ stepCount: 5, inFlight: 0 });
  });

  test('tools and runs find by themselves what they are inside of', async () => {
    const one = machine();
    const search = one.tool('search', async (query: string) => `about ${query}`);
    const research = one.tool('research', async (topic: string) => {
      const nested = await search(topic);
      return one.withRun(async (child) => {
        expect(child.parent?.run).toBe(child.address.root);
        return `${nested}, ${await search('more')}`;
      });
    });
    const [answer, state] = await one.withRun(async (run) => {
      expect(one.currentRun()).toBe(run);
      return [await research('xstate'), await run.state()] as const;
    });
    expect(answer).toBe('about xstate, about more');
    expect(state.stepCount).toBe(3);
    expect(one.currentRun()).toBeNull();
    expect(await refusalOf(search('outside'))).toMatchObject({ code: 'no-active-run' });
  });

  test('the end of a run ends those inside of it first', async () => {
    const root = await machine().beginRun();
    const call = await root.beforeCall('delegate');
    const child = await machine().beginRun({ parent: call });
    const grandchild = await machine().beginRun({ parent: (await child.beforeCall('delegate')).address });
    await root.finish();
    expect(await refusalOf(grandchild.callTool('search', {}, nothing))).toEqual({
      code: 'run-completed',
      message: 'Cannot call search: agent run is already completed: parent run ended',
    });
    expect(await refusalOf(machine().beginRun({ parent: call.address }))).toMatchObject({
      code: 'undefined',
    });
  });

  test('runs nest no deeper than allowed', async () => {
    const root = await machine().beginRun({ maxDepth: 0 });
    const call = await root.beforeCall('delegate');
    expect(await refusalOf(machine().beginRun({ parent: call.address }))).toMatchObject({
      code: 'depth-exceeded',
    });
  });
});

describe('what is due happens, whoever has died', () => {
  /** Asks as an agent would whose machine is gone by now. */
  async function ask(object: string, key: string, name: string, request: object) {
    const response = await fetch(`${cluster.ingress}/${object}/${key}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(request),
    });
    expect(response.status).toBe(200);
    return response.json();
  }

  test('a run ends at its deadline, also when the server was down at that time', async () => {
    const key = `deadline-${Date.now()}`;
    const begun = { op: 'a', run: key, parent: null, timeoutMs: 400 };
    expect(await ask('phasegate', key, 'begin', begun)).toMatchObject({ is: 'run' });
    const run = await machine().joinRun(key);
    await cluster.server.child.kill();
    await sleep(500);
    await cluster.server.start();
    const reason = 'timeout after 400 ms';
    await until('it has ended', async () => (await run.state()).reason === reason);
    expect(run.signal.reason).toMatchObject({ code: 'run-timeout', reason });
    expect(await refusalOf(run.callTool('search', {}, nothing))).toMatchObject({
      code: 'run-completed',
      message: `Cannot call search: agent run is already completed: ${reason}`,
    });
  });

  test('a machine that learns of it aborts its bodies: the deadline was begun on another', async () => {
    const key = `learns-${Date.now()}`;
    await ask('leased', key, 'begin', { op: 'a', run: key, parent: null, timeoutMs: 2000 });
    const run = await machine({ object: 'leased', timeoutMs: 3000 }).joinRun(key);
    // Nothing is asked: the answer to a sign of life tells.
    const stopped = run.callTool('long', {}, (ctx) => {
      return new Promise((_, reject) =>
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)),
      );
    });
    await expect(stopped).rejects.toMatchObject({ code: 'run-timeout' });
  });

  test('a call whose machine died is charged, and the next one is served', async () => {
    const run = await machine({ object: 'leased', timeoutMs: 3000 }).beginRun();
    const file = (what: string) => join(cluster.folder, `dying.${what}`);
    const orders = { ingress: cluster.ingress, object: 'leased', timeoutMs: 3000, runs: [run.id] };
    const paths = { bodies: file('bodies'), outcomes: file('outcomes') };
    writeFileSync(file('bodies'), '');
    writeFileSync(file('orders'), JSON.stringify({ ...orders, ...paths, callsPerRun: 1, bodyMs: 60_000 }));
    const agents = new Child(process.execPath, [
      fileURLToPath(new URL('agents.mjs', import.meta.url)),
      file('orders'),
    ]);
    agents.start();
    await until('its call is in flight', () => readFileSync(file('bodies'), 'utf8') !== '');
    await agents.kill();
    expect(await run.state()).toMatchObject({ stepCount: 0, inFlight: 1 });
    await run.callTool('next', {}, nothing);
    expect(await run.state()).toMatchObject({ stepCount: 2, inFlight: 0 });
  });

  test('a call that takes long is kept by its signs of life', async () => {
    const run = await machine({ object: 'leased', timeoutMs: 3000 }).beginRun();
    await run.callTool('long', {}, () => sleep(4500));
    expect(await run.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
  });

  test('a run of which nothing is asked is aborted, and one that has ended is forgotten: never begun anew', async () => {
    const key = `idle-${Date.now()}`;
    const one = machine({ object: 'forgetful' });
    const run = await one.beginRun({ id: key });
    await expect(one.beginRun({ id: key })).rejects.toMatchObject({ code: 'run-exists' });
    await sleep(1600);
    const there = await one.joinRun(key);
    expect(await there.state()).toMatchObject({ finished: true, reason: 'nothing asked for 1500 ms' });
    await expect(one.beginRun({ id: key })).rejects.toMatchObject({ code: 'run-exists' });
    await until('it is forgotten', () =>
      one.joinRun(key).then(
        () => false,
        ({ code }) => code === 'run-unknown',
      ),
    );
    expect(await refusalOf(run.callTool('search', {}, nothing))).toMatchObject({ code: 'no-active-run' });
    await expect(run.propose('PLANNING')).rejects.toMatchObject({ code: 'run-unknown' });
  });
});

describe('what cannot be asked is refused', () => {
  test('there is no server: no run, no call', async () => {
    const nowhere = machine({ ingress: 'http://127.0.0.1:9', timeoutMs: 200 });
    await expect(nowhere.beginRun()).rejects.toMatchObject({ code: 'enforcement-unreachable' });
    await expect(nowhere.withRun(() => 'an answer')).rejects.toMatchObject({
      code: 'enforcement-unreachable',
    });
  });

  test('there is no such object', async () => {
    await expect(machine({ object: 'nobody', timeoutMs: 500 }).beginRun()).rejects.toMatchObject({
      code: 'enforcement-unreachable',
    });
  });

  test('the service is down: a call is refused, its body does not start, and nothing is charged for it later', async () => {
    const run = await machine({ timeoutMs: 3000 }).beginRun();
    await Promise.all(cluster.services.map(({ child }) => child.kill()));
    let started = false;
    const refusal = await refusalOf(
      run.callTool('search', {}, () => {
        started = true;
      }),
    );
    expect(refusal).toEqual({
      code: 'enforcement-unreachable',
      message: expect.stringContaining('Cannot call search: No answer from'),
    });
    await Promise.all(cluster.services.map((service) => service.start()));
    const there = await machine({ timeoutMs: 30_000 }).joinRun(run.id);
    await until('the call is given back', async () => (await there.state()).inFlight === 0);
    await there.callTool('search', {}, nothing);
    expect(started).toBe(false);
    expect(await there.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
  }, 60_000);

  test('the end of a call cannot be reported: its result is not lost, someone is told, and the call is charged', async () => {
    const undelivered: unknown[] = [];
    const one = machine({
      object: 'leased',
      timeoutMs: 3000,
      reportMs: 300,
      onUndelivered: (error, run, call) => undelivered.push([error, run, call?.tool]),
    });
    const run = await one.beginRun();
    const result = run.callTool('search', {}, async () => {
      await cluster.server.child.kill();
      return 'a page';
    });
    expect(await result).toBe('a page');
    expect(undelivered).toEqual([
      [expect.objectContaining({ code: 'enforcement-unreachable' }), run.address, 'search'],
    ]);
    await cluster.server.start();
    await until('it is charged', async () => (await run.state()).stepCount === 1);
  }, 60_000);

  test('an answer that is none of ours', async () => {
    const run = await machine({
      fetch: async (url, init) =>
        String(url).endsWith('/beforeCall')
          ? Response.json({ is: 'admitted', allowed: true })
          : fetch(url, init),
    }).beginRun();
    expect(await refusalOf(run.callTool('search', {}, nothing))).toMatchObject({ code: 'answer-unreadable' });
  });

  test('a machine that waits for longer than the service keeps a call', async () => {
    await expect(machine({ object: 'leased', timeoutMs: 5000 }).beginRun()).rejects.toMatchObject({
      code: 'invalid-argument',
      message: 'timeoutMs must be at most 3000, the leaseMs of the service, got 5000',
    });
  });
});

describe('the service', () => {
  test('runs the checks, which see what a tool is called with', async () => {
    const run = await machine({ object: 'checked' }).beginRun();
    await run.callTool('search', { hour: 12 }, nothing);
    expect(await refusalOf(run.callTool('send_email', { hour: 12 }, nothing))).toMatchObject({
      code: 'no-mail',
    });
    expect(await refusalOf(run.callTool('search', { hour: 3 }, nothing))).toEqual({
      code: 'check-failed',
      message: 'Check "throws-at-night" failed: I sleep',
    });
    expect((await run.state()).stepCount).toBe(1);
  });

  test('refuses what was edited where Restate keeps it', async () => {
    const run = await machine({ object: 'signed' }).beginRun();
    await run.callTool('search', {}, nothing);
    const query = `SELECT value_utf8 FROM state WHERE service_key = '${run.id}' AND key = 'tree'`;
    const { rows } = await admin('/query', { query });
    const tree = rows[0].value_utf8 as string;
    expect(tree).toContain('"stepCount":1');
    const edited = tree.replaceAll('"stepCount":1', '"stepCount":0');
    const state = { tree: [...new TextEncoder().encode(edited)] };
    await admin('/services/signed/state', { object_key: run.id, new_state: state });
    await until('it is refused', async () => {
      const { code } = await refusalOf(run.callTool('search', {}, nothing));
      return code !== 'undefined';
    });
    expect(await refusalOf(run.callTool('search', {}, nothing))).toEqual({
      code: 'saved-tree-refused',
      message: expect.stringContaining('it is not signed with this key'),
    });
  });

  async function admin(path: string, body: object) {
    const response = await fetch(cluster.server.admin + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    expect(response.ok, text).toBe(true);
    return text === '' ? {} : JSON.parse(text);
  }
});

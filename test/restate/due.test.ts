import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { phasegateObject, type RemoteRun } from '../../src/restate/index.ts';
import { pass, refusalOf, serve } from './world.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const forever = () => new Promise<never>(() => {});

/** A call whose machine is cut off at once: no sign of life arrives any more. */
async function callOfTheDead(world: ReturnType<typeof serve>, run: RemoteRun, tool = 'long'): Promise<void> {
  let dead = false;
  const machine = world.machine({
    fetch: (url, init) => (dead ? forever() : world.restate.fetch(url, init)),
  });
  await (await machine.joinRun(run.address)).beforeCall(tool);
  dead = true;
}

describe('a call whose machine has died', () => {
  test('is charged when its lease is over, and not before (SPEC §11.2)', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const run = await world.machine().beginRun();
    await callOfTheDead(world, run);
    await pass(29_999);
    expect(await run.state()).toMatchObject({ phase: 'ACTING', stepCount: 0, inFlight: 1 });
    await pass(1);
    expect(await run.state()).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
  });

  test('lets the next in line go on then', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const run = await world.machine().beginRun();
    await callOfTheDead(world, run);
    const next = run.callTool('next', {}, () => 'a page');
    await pass(30_000);
    expect(await next).toBe('a page');
    expect((await run.state()).stepCount).toBe(2);
  });

  test('ends once: an end that is reported after all changes nothing', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const run = await world.machine().beginRun();
    await callOfTheDead(world, run);
    const { open } = world.restate.stateOf('phasegate', run.id)['tree'] as { open: [{ call: string }] };
    await pass(30_000);
    const late = { run: run.id, call: open[0].call };
    expect(await world.restate.invoke('phasegate', run.id, 'afterCall', late)).toMatchObject({ is: 'done' });
    expect(await run.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
    const again = { ...late, tool: 'long', callId: null, parent: null };
    expect(await world.restate.invoke('phasegate', run.id, 'beforeCall', again)).toMatchObject({
      is: 'refused',
      refusal: { code: 'call-ended' },
    });
  });

  test('is charged to the runs around its own too, also when these have outlived it', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const root = await world.machine().beginRun();
    const call = await root.beforeCall('delegate');
    const child = await world.machine().beginRun({ parent: call });
    await callOfTheDead(world, child);
    await child.finish();
    await pass(30_000);
    expect(await child.state()).toMatchObject({ stepCount: 0, inFlight: 0 });
    expect(await root.state()).toMatchObject({ stepCount: 1, inFlight: 1 });
  });
});

test('a call gives signs of life for as long as it takes', async () => {
  const run = await serve({}, {}, { leaseMs: 30_000 }).machine().beginRun();
  const call = run.callTool('long', {}, () => new Promise((resolve) => setTimeout(resolve, 200_000)));
  await pass(199_000);
  expect(await run.state()).toMatchObject({ stepCount: 0, inFlight: 1 });
  await pass(1000);
  await call;
  expect(await run.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
});

test('a call gives its first sign of life in time, however long its admission was under way', async () => {
  const world = serve({}, {}, { leaseMs: 30_000 });
  const slow: typeof fetch = async (url, init) => {
    const answer = await world.restate.fetch(url, init);
    if (String(url).endsWith('/beforeCall')) await new Promise((resolve) => setTimeout(resolve, 29_000));
    return answer;
  };
  const run = await world.machine({ fetch: slow, timeoutMs: 30_000 }).beginRun();
  const call = run.callTool('long', {}, () => new Promise((resolve) => setTimeout(resolve, 60_000)));
  await pass(80_000);
  expect(await run.state()).toMatchObject({ stepCount: 0, inFlight: 1 });
  await pass(9000);
  await call;
  expect(await run.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
});

test('a call of which no life is expected is kept for as long as its run', async () => {
  const world = serve({}, {}, { leaseMs: Number.POSITIVE_INFINITY, idleMs: Number.POSITIVE_INFINITY });
  const run = await world.machine().beginRun();
  await callOfTheDead(world, run);
  await pass(2 ** 31);
  expect(await run.state()).toMatchObject({ stepCount: 0, inFlight: 1 });
});

describe('a call in line', () => {
  test('is refused after waitTimeoutMs, and the one behind it later', async () => {
    const world = serve({}, { waitTimeoutMs: 5000 });
    const [one, two] = [await world.machine().beginRun(), world.machine()];
    await one.beforeCall('long');
    const first = refusalOf(one.beforeCall('first'));
    await pass(1000);
    const second = refusalOf((await two.joinRun(one.id)).beforeCall('second'));
    await pass(4000);
    const message = 'Cannot call first: waited 5000 ms for long, which is still running';
    expect(await first).toEqual({ code: 'wait-timeout', message });
    expect((await one.state()).inFlight).toBe(1);
    await pass(1000);
    expect(await second).toMatchObject({ code: 'wait-timeout' });
  });

  test('whose machine has died is offered, not taken up, and not charged; then the next one goes on', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const one = await world.machine().beginRun();
    const long = await one.beforeCall('long');
    let dead = false;
    const fetch: typeof world.restate.fetch = (url, init) =>
      dead ? forever() : world.restate.fetch(url, init);
    const doomed = await world.machine({ fetch }).joinRun(one.id);
    void doomed.beforeCall('doomed').catch(() => {});
    await pass(100);
    dead = true;
    const next = one.callTool('next', {}, () => 'a page');
    await pass(100);
    await one.afterCall(long);
    expect(await one.state()).toMatchObject({ stepCount: 1, inFlight: 1 });
    await pass(30_000);
    expect(await next).toBe('a page');
    expect(await one.state()).toMatchObject({ stepCount: 2, inFlight: 0 });
  });

  test('waits for as long as it takes where there is no limit', async () => {
    const world = serve({}, { waitTimeoutMs: Number.POSITIVE_INFINITY });
    const run = await world.machine().beginRun();
    const long = await run.beforeCall('long');
    const next = run.beforeCall('next', {}, { callId: 'c2' });
    await pass(3_000_000);
    await run.afterCall(long);
    expect((await next).id).toBe('c2');
  });

  test('is not admitted when whoever asked has given up', async () => {
    const world = serve();
    const one = await world.machine().beginRun();
    const long = await one.beforeCall('long');
    const there = await world.machine().joinRun(one.id);
    const next = refusalOf(there.beforeCall('next'));
    await pass(100);
    await there.abort('enough');
    expect(await next).toMatchObject({
      code: expect.stringMatching(/run-completed|enforcement-unreachable/),
    });
    await one.afterCall(long);
    await pass(100);
    expect(await one.state()).toMatchObject({ inFlight: 0, stepCount: 0 });
  });

  test('an admission that was long under way does not start a body when its lease is over', async () => {
    const world = serve({}, {}, { leaseMs: 30_000 });
    const one = await world.machine().beginRun();
    const long = await one.beforeCall('long');
    const slow: typeof fetch = async (url, init) => {
      const answer = await world.restate.fetch(url, init);
      if (String(url).endsWith('/awaitTurn')) await new Promise((resolve) => setTimeout(resolve, 40_000));
      return answer;
    };
    const there = await world.machine({ fetch: slow }).joinRun(one.id);
    let started = false;
    const next = refusalOf(
      there.callTool('next', {}, () => {
        started = true;
      }),
    );
    await pass(100);
    await one.afterCall(long);
    await pass(40_000);
    expect(await next).toMatchObject({ code: 'call-ended' });
    expect(started).toBe(false);
    expect(await one.state()).toMatchObject({ stepCount: 1, inFlight: 0 });
  });
});

describe('a run', () => {
  test('ends at its deadline, whether or not anyone asks, and with it the runs inside of it', async () => {
    const world = serve();
    const run = await world.machine().beginRun({ timeoutMs: 60_000 });
    const there = await world.machine().joinRun(run.id);
    const child = await world.machine().beginRun({ parent: await there.beforeCall('delegate') });
    await pass(60_000);
    expect(await child.state()).toMatchObject({ finished: true, reason: 'timeout after 60000 ms' });
    expect(await there.state()).toMatchObject({ finished: true, reason: 'timeout after 60000 ms' });
    expect(there.signal.reason).toMatchObject({ code: 'run-timeout' });
  });

  test('makes no call after its deadline, also when Restate is late to call for its end', async () => {
    const world = serve();
    const run = await world.machine().beginRun({ timeoutMs: 60_000 });
    const there = await world.machine().joinRun(run.id);
    vi.setSystemTime(Date.now() + 60_000);
    const message = 'Cannot call search: agent run is already completed: timeout after 60000 ms';
    expect(await refusalOf(there.callTool('search', {}, () => 'a page'))).toEqual({
      code: 'run-completed',
      message,
    });
    expect(there.signal.reason).toMatchObject({ code: 'run-timeout' });
  });

  test('is aborted when nothing is asked of it, and forgotten a while after its end', async () => {
    const world = serve({}, {}, { idleMs: 50_000, retentionMs: 20_000 });
    const run = await world.machine().beginRun({ id: 'seven' });
    await pass(40_000);
    await run.callTool('search', {}, () => 'a page');
    await pass(49_999);
    expect((await run.state()).finished).toBe(false);
    await pass(1);
    expect(await run.state()).toMatchObject({ finished: true, reason: 'nothing asked for 50000 ms' });
    await expect(world.machine().beginRun({ id: 'seven' })).rejects.toMatchObject({ code: 'run-exists' });
    await pass(20_000);
    expect(world.restate.stateOf('phasegate', 'seven')).toEqual({});
    await expect(run.state()).rejects.toMatchObject({ code: 'run-unknown' });
  });

  test('of which nothing is known gets no budget', async () => {
    const world = serve({}, {}, { retentionMs: 20_000 });
    const run = await world.machine().beginRun();
    const there = await world.machine().joinRun(run.id);
    await run.finish();
    await pass(20_000);
    const message = `Cannot call search: no agent run is active of the id ${run.id}, or it ended a while ago`;
    expect(await refusalOf(there.callTool('search', {}, () => 'a page'))).toEqual({
      code: 'no-active-run',
      message,
    });
    expect(world.restate.stateOf('phasegate', run.id)).toEqual({});
  });

  test('keeps a few child runs that have ended, and of older ones that they are not live', async () => {
    const { machine, restate } = serve({ maxSteps: 1000 });
    const root = await machine().beginRun();
    const call = await root.beforeCall('delegate');
    const first = await machine().beginRun({ parent: call });
    const there = await machine().joinRun(first.address);
    await first.finish();
    for (let i = 0; i < 60; i++) {
      await machine().withRun((child) => child.callTool('search', {}, () => 'a page'), { parent: call });
    }
    expect((restate.stateOf('phasegate', root.id)['tree'] as { runs: unknown[] }).runs).toHaveLength(51);
    expect(await refusalOf(there.callTool('search', {}, () => 'a page'))).toMatchObject({
      code: 'no-active-run',
    });
    await root.afterCall(call);
    expect((await root.state()).stepCount).toBe(61);
  });

  test('that could not be read when something was due comes to it with the next question', async () => {
    const world = serve();
    const run = await world.machine().beginRun({ timeoutMs: 60_000 });
    const there = await world.machine().joinRun(run.id);
    phasegateObject(world.restate.sdk, { enforcement: serve({ maxSteps: 1 }).enforcement });
    await pass(60_000);
    await expect(there.state()).rejects.toMatchObject({ code: 'saved-run-refused' });
    phasegateObject(world.restate.sdk, { enforcement: world.enforcement });
    await there.propose('PLANNING');
    await pass(1);
    expect(await there.state()).toMatchObject({ finished: true, reason: 'timeout after 60000 ms' });
  });

  test('calls the object for one thing at a time: for what is due first', async () => {
    const world = serve({}, {}, { leaseMs: 30_000, idleMs: 100_000 });
    const run = await world.machine().beginRun();
    const tendAt = () =>
      (world.restate.stateOf('phasegate', run.id)['tree'] as { tendAt: number }).tendAt - Date.now();
    expect(tendAt()).toBe(100_000);
    await callOfTheDead(world, run);
    expect(tendAt()).toBe(30_000);
    await pass(30_000);
    expect(tendAt()).toBe(70_000);
  });
});

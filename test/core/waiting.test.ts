import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Call, createEnforcement, createMonitor, createSupervisor } from '../../src/index.ts';
import { flush, gate, outcomeOf, refusalOf, watch } from './helpers.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const top = { parent: null };

describe('SPEC §5.6: a top-level call that comes while others run, with parallel: serialize', () => {
  test('waits its turn, first come first served, and the bodies never overlap', async () => {
    const run = createEnforcement().beginRun();
    const started: number[] = [];
    const gates = Array.from({ length: 5 }, () => gate());
    const calls = gates.map(({ passed }, i) =>
      run.callTool('search', { i }, async () => {
        started.push(i);
        expect(run.state.inFlight).toBe(1);
        await passed;
      }),
    );
    for (const [i, { open }] of gates.entries()) {
      await flush();
      expect(started).toEqual(Array.from({ length: i + 1 }, (_, n) => n));
      open();
    }
    await Promise.all(calls);
    expect(run.state).toMatchObject({ stepCount: 5, loopCount: {}, phase: 'OBSERVING' });
  });

  test('is decided when its turn comes, from the phase that it finds', async () => {
    const run = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) }).beginRun();
    const first = await run.beforeCall('first');
    const second = run.callTool('second', {}, () => 'ran');
    const third = run.callTool('third', {}, () => 'ran');
    run.failCall(first);
    // The first failed, so the second is a retry from ACTING, has the one step, and the third has none.
    expect(await second).toBe('ran');
    expect(await refusalOf(third)).toMatchObject({ message: 'Step budget exhausted: 1/1' });
    expect(run.log.map(({ path }) => path)).toEqual([
      ['IDLE', 'PLANNING', 'ACTING'],
      ['ACTING', 'ACTING'],
      [],
    ]);
  });

  test('a call that comes later does not overtake one that waits', async () => {
    const answer = gate<{ allowed: true }>();
    const check = (call: { tool: string }) =>
      call.tool === 'second' ? answer.passed : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check }] });
    const run = createEnforcement({ monitor }).beginRun();
    const order: string[] = [];
    const call = (tool: string) => run.callTool(tool, {}, () => order.push(tool));
    const calls = [call('first'), call('second')];
    await flush();
    calls.push(call('third'));
    await flush();
    expect(order).toEqual(['first']);
    answer.open({ allowed: true });
    await Promise.all(calls);
    expect(order).toEqual(['first', 'second', 'third']);
  });

  test('one that is refused makes way for the next', async () => {
    const check = (call: { tool: string }) =>
      call.tool === 'bad' ? ({ allowed: false } as const) : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'no-bad', check }] });
    const run = createEnforcement({ monitor }).beginRun();
    const hold = gate();
    const first = run.callTool('first', {}, () => hold.passed);
    const waiting = ['bad', 'good', 'bad', 'good'].map((tool) => watch(run.callTool(tool, {}, () => tool)));
    hold.open();
    await first;
    const outcomes = await Promise.all(waiting.map((outcome) => outcome()));
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled']);
    expect(run.state).toMatchObject({ stepCount: 3, inFlight: 0 });
  });

  test('nested calls never wait, also while top-level calls do', async () => {
    const run = createEnforcement().beginRun();
    const order: string[] = [];
    const waiting: Promise<unknown>[] = [];
    await run.callTool('outer', {}, async (ctx) => {
      waiting.push(run.callTool('top', {}, () => order.push('top'), top));
      await ctx.callTool('nested', {}, () => order.push('nested'));
    });
    await Promise.all(waiting);
    expect(order).toEqual(['nested', 'top']);
  });

  test('waits for a nested call that outlives its maker', async () => {
    const run = createEnforcement().beginRun();
    const outer = await run.beforeCall('outer');
    const inner = await run.beforeCall('inner', {}, { parent: outer });
    const waiting = run.callTool('next', {}, () => 'ran', top);
    run.afterCall(outer);
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 1 });
    expect(await outcomeOf(waiting)).toEqual({ status: 'pending' });
    run.afterCall(inner);
    expect(await waiting).toBe('ran');
  });

  test('a call from a body that has ended is top-level, and takes its turn', async () => {
    const run = createEnforcement({ supervisor: createSupervisor({ maxLoopsPerPhase: 0 }) }).beginRun();
    let leaked: Call | undefined;
    await run.callTool('outer', {}, (ctx) => {
      leaked = ctx;
    });
    expect(await leaked?.callTool('after', {}, () => 'ran')).toBe('ran');
    const other = await run.beforeCall('other', {}, top);
    const waiting = leaked?.callTool('late', {}, () => 'ran') as Promise<string>;
    expect(await outcomeOf(waiting)).toEqual({ status: 'pending' });
    run.afterCall(other);
    expect(await waiting).toBe('ran');
    expect(run.state).toMatchObject({ stepCount: 4, loopCount: {} });
  });

  // The check of a nested call that outlived its maker was pending when the run came to observe, with no way back.
  test('is answered too when the call before it is found to be unreachable after its check', async () => {
    const answer = gate<{ allowed: true }>();
    const check = (call: { tool: string }) =>
      call.tool === 'nested' ? answer.passed : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check }] });
    const supervisor = createSupervisor();
    supervisor.removeTransition('OBSERVING', 'PLANNING');
    const run = createEnforcement({ supervisor, monitor }).beginRun();
    const outer = await run.beforeCall('outer');
    const nested = watch(run.callTool('nested', {}, () => 'ran', { parent: outer }));
    const waiting = watch(run.callTool('waiting', {}, () => 'ran', top));
    run.afterCall(outer);
    answer.open({ allowed: true });
    expect(await nested()).toMatchObject({ error: { code: 'action-unreachable' } });
    expect(await waiting()).toMatchObject({ error: { code: 'action-unreachable' } });
  });
});

describe('SPEC §5.6: with parallel: concurrent', () => {
  test('it joins the same visit to ACTING: a step, and no loop', async () => {
    const supervisor = createSupervisor({ maxLoopsPerPhase: 0 });
    const run = createEnforcement({ supervisor, parallel: 'concurrent' }).beginRun();
    const calls = await Promise.all(['a', 'b', 'c'].map((tool) => run.beforeCall(tool)));
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 3, loopCount: {} });
    expect(run.log.map(({ path }) => path)).toEqual([['IDLE', 'PLANNING', 'ACTING'], ['ACTING'], ['ACTING']]);
    for (const call of calls) {
      expect(run.state.phase).toBe('ACTING');
      run.afterCall(call);
    }
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 3 });
  });

  test('nested calls are still loops', async () => {
    const supervisor = createSupervisor({ maxLoopsPerPhase: 1 });
    const run = createEnforcement({ supervisor, parallel: 'concurrent' }).beginRun();
    const outer = await run.beforeCall('outer');
    await run.beforeCall('beside', {}, top);
    await run.beforeCall('nested', {}, { parent: outer });
    expect(run.state.loopCount).toEqual({ ACTING: 1 });
    expect((await refusalOf(run.beforeCall('nested', {}, { parent: outer }))).code).toBe('loop-budget');
    expect(await run.callTool('beside', {}, () => 'ran', top)).toBe('ran');
  });
});

describe('A call that waits behind its own caller: the context was lost', () => {
  test('is refused after waitTimeoutMs, names the tool that it waited for, and how to hand on the context', async () => {
    const run = createEnforcement({ waitTimeoutMs: 1000 }).beginRun();
    const outer = run.callTool('read_file', {}, async () => {
      // As code does that has lost its context: `parent: null`, or a platform without AsyncLocalStorage.
      const refusal = await run.callTool('search', {}, () => 'found', top).catch((error: Error) => error);
      return refusal;
    });
    await flush();
    vi.advanceTimersByTime(999);
    expect(await outcomeOf(outer)).toEqual({ status: 'pending' });
    vi.advanceTimersByTime(1);
    expect(await outer).toMatchObject({
      code: 'wait-timeout',
      tool: 'search',
      message: expect.stringMatching(
        /^Cannot call search: waited 1000 ms for read_file, which is still running.*ctx\.callTool.*parent: ctx/,
      ),
    });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
  });

  test('waits five minutes unless told otherwise, and without end where Infinity is said', async () => {
    const waitingRun = createEnforcement().beginRun();
    await waitingRun.beforeCall('first');
    const waiting = waitingRun.beforeCall('second');
    vi.advanceTimersByTime(299_999);
    expect(await outcomeOf(waiting)).toEqual({ status: 'pending' });
    vi.advanceTimersByTime(1);
    expect((await refusalOf(waiting)).code).toBe('wait-timeout');

    const patient = createEnforcement({ waitTimeoutMs: Number.POSITIVE_INFINITY }).beginRun();
    const first = await patient.beforeCall('first');
    const second = patient.beforeCall('second');
    vi.advanceTimersByTime(2 ** 31);
    expect(await outcomeOf(second)).toEqual({ status: 'pending' });
    expect(vi.getTimerCount()).toBe(0);
    patient.afterCall(first);
    expect((await second).tool).toBe('second');
  });

  test('those that wait behind it go on waiting, in their order', async () => {
    const run = createEnforcement({ waitTimeoutMs: 1000 }).beginRun();
    const first = await run.beforeCall('first');
    const order: string[] = [];
    const call = (tool: string) => run.callTool(tool, {}, () => order.push(tool));
    const a = call('a');
    vi.advanceTimersByTime(500);
    const rest = [call('b'), call('c')];
    vi.advanceTimersByTime(500);
    expect((await refusalOf(a)).code).toBe('wait-timeout');
    run.afterCall(first);
    await Promise.all(rest);
    expect(order).toEqual(['b', 'c']);
  });

  test('a call whose turn has come is never refused for having waited, however long it runs', async () => {
    const run = createEnforcement({ waitTimeoutMs: 1000 }).beginRun();
    const first = await run.beforeCall('first');
    const hold = gate<string>();
    const second = run.callTool('second', {}, () => hold.passed);
    vi.advanceTimersByTime(999);
    run.afterCall(first);
    await flush();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(5000);
    hold.open('ran');
    expect(await second).toBe('ran');
  });

  test('changes nothing but its own answer (SPEC §2.4)', async () => {
    const run = createEnforcement({ waitTimeoutMs: 1000 }).beginRun();
    const first = await run.beforeCall('first');
    const waiting = run.beforeCall('second');
    const before = run.state;
    vi.advanceTimersByTime(1000);
    await refusalOf(waiting);
    expect(run.state).toEqual(before);
    run.afterCall(first);
    expect(run.state).toMatchObject({ stepCount: 1, inFlight: 0 });
  });

  test('leaves no timer behind, whichever way the waiting ends', async () => {
    const run = createEnforcement().beginRun();
    const first = await run.beforeCall('first');
    const served = run.beforeCall('served');
    const aborted = run.beforeCall('aborted');
    expect(vi.getTimerCount()).toBe(2);
    run.afterCall(first);
    await served;
    expect(vi.getTimerCount()).toBe(1);
    run.abort('stop');
    await refusalOf(aborted);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([0, -1, Number.NaN, 2 ** 31, '1000', null])(
    'a waitTimeoutMs of %j is an error when the enforcement is made',
    (waitTimeoutMs) => {
      expect(() => createEnforcement({ waitTimeoutMs: waitTimeoutMs as number })).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    },
  );
});

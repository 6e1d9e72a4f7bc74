import { describe, expect, test, vi } from 'vitest';
import { createEnforcement, createMonitor, createSupervisor } from '../../src/index.ts';
import { collectGarbage, macrotask, refusalOf } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

describe('run.log keeps each decision', () => {
  test('of an admission: the phases before and after, the path, and the counters', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('search', {}, () => 1, { callId: 'c1' });
    expect(run.log).toEqual([
      {
        time: expect.any(Number),
        tool: 'search',
        callId: 'c1',
        parent: null,
        allowed: true,
        code: null,
        message: null,
        stage: null,
        phaseBefore: 'IDLE',
        phaseAfter: 'ACTING',
        path: ['IDLE', 'PLANNING', 'ACTING'],
        stepCount: 0,
        loopCount: 0,
        inFlight: 1,
      },
    ]);
    await run.callTool('search', {}, () => 1);
    expect(run.log.at(-1)).toMatchObject({
      callId: 'call-2',
      phaseBefore: 'OBSERVING',
      path: ['OBSERVING', 'PLANNING', 'ACTING'],
      stepCount: 1,
    });
  });

  test('of a nested call: its parent, and the loop', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('outer', {}, (ctx) => ctx.callTool('inner', {}, () => 1), { callId: 'c1' });
    expect(run.log.at(-1)).toMatchObject({
      tool: 'inner',
      parent: 'c1',
      phaseBefore: 'ACTING',
      phaseAfter: 'ACTING',
      path: ['ACTING', 'ACTING'],
      loopCount: 1,
      inFlight: 2,
    });
  });

  test('of a refusal: why and by whom; no path, and the phase as it was', async () => {
    const check = () => ({ allowed: false, code: 'no', message: 'Not today' }) as const;
    const monitor = createMonitor({}, { checks: [{ name: 'deny', check }] });
    const run = createEnforcement({ monitor }).beginRun();
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(run.log).toMatchObject([
      {
        tool: 'search',
        allowed: false,
        code: 'no',
        message: 'Not today',
        stage: 'deny',
        phaseBefore: 'IDLE',
        phaseAfter: 'IDLE',
        path: [],
        stepCount: 0,
        inFlight: 0,
      },
    ]);
  });

  test('of a refusal that ended the run: the phase that it ended in', async () => {
    const supervisor = createSupervisor({ maxSteps: 0, onBudgetExhausted: 'terminate' });
    const run = createEnforcement({ supervisor }).beginRun();
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(run.log).toMatchObject([{ phaseBefore: 'IDLE', phaseAfter: 'EXHAUSTED', code: 'step-budget' }]);
  });

  test('of a proposal: no tool and no call', () => {
    const run = createEnforcement().beginRun();
    run.propose('PLANNING');
    run.propose('OBSERVING');
    expect(run.log).toMatchObject([
      { tool: null, callId: null, allowed: true, phaseBefore: 'IDLE', path: ['IDLE', 'PLANNING'] },
      {
        tool: null,
        allowed: false,
        code: 'illegal-transition',
        stage: 'dfa',
        phaseAfter: 'PLANNING',
        path: [],
      },
    ]);
  });

  test('of calls after the end', async () => {
    const run = createEnforcement().beginRun();
    run.abort('stop');
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(run.log).toMatchObject([
      { code: 'run-completed', stage: 'enforcement', phaseBefore: 'ANSWERING', phaseAfter: 'ANSWERING' },
    ]);
  });

  test('in the order in which they were made, which is that of a queue', async () => {
    const run = createEnforcement().beginRun();
    const tools = ['a', 'b', 'c', 'd'];
    await Promise.all(tools.map((tool) => run.callTool(tool, {}, () => 1)));
    expect(run.log.map(({ tool }) => tool)).toEqual(tools);
  });

  test('without the arguments: a log is no second copy of what the tools saw', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('search', { secret: 'hunter2' }, () => 'hunter2');
    expect(JSON.stringify(run.log)).not.toContain('hunter2');
  });

  test('what is done to an entry changes no later reading, and no run', async () => {
    // A table of its own, so that the other tests do not suffer where it does.
    const supervisor = createSupervisor({ phases: ['REVIEWING'] });
    const run = createEnforcement({ supervisor }).beginRun();
    run.propose('PLANNING');
    await run.callTool('search', {}, () => 1);
    await run.callTool('search', {}, () => 2);
    const before = structuredClone(run.log);
    for (const entry of run.log) {
      try {
        Object.assign(entry, { allowed: false, tool: 'other' });
        (entry.path as string[]).length = 0;
      } catch {
        // Frozen: as good.
      }
    }
    expect(run.log).toEqual(before);
    expect(run.validateActionPhase()).toMatchObject({ path: ['OBSERVING', 'PLANNING', 'ACTING'] });
  });
});

describe('run.log is bounded', () => {
  test('to the latest thousand unless told otherwise; the rest is counted', async () => {
    const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
    const run = createEnforcement({ supervisor }).beginRun();
    expect([run.log, run.logDropped]).toEqual([[], 0]);
    for (let i = 0; i < 2600; i++) await run.callTool('search', {}, () => i, { callId: `c${i}` });
    expect(run.log).toHaveLength(1000);
    expect(run.log[0]?.callId).toBe('c1600');
    expect(run.log.at(-1)?.callId).toBe('c2599');
    expect(run.logDropped).toBe(1600);
  });

  test.each([0, 1, 2, 3, 10])('to the latest %d, after every decision', (logLimit) => {
    const run = createEnforcement({ logLimit }).beginRun();
    for (let made = 1; made <= 25; made++) {
      run.propose(`NO_${made}`);
      const kept = Math.min(made, logLimit);
      const messages = Array.from({ length: kept }, (_, i) => `Unknown phase: "NO_${made - kept + 1 + i}"`);
      expect(run.log.map(({ message }) => message)).toEqual(messages);
      expect(run.logDropped).toBe(made - kept);
    }
  });

  test('and what it has let go is free: a long run keeps no more than its log', async () => {
    const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
    const run = createEnforcement({ supervisor, logLimit: 10 }).beginRun();
    const early: WeakRef<object>[] = [];
    for (let i = 0; i < 1000; i++) {
      const call = await run.beforeCall('search');
      if (i < 100) early.push(new WeakRef(call));
      run.afterCall(call);
    }
    await macrotask();
    collectGarbage();
    expect(early.filter((call) => call.deref() !== undefined)).toEqual([]);
    expect(run.log).toHaveLength(10);
  });
});

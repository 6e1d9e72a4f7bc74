import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Call, createEnforcement, createSupervisor, type Run } from '../../src/index.ts';
import { flush, gate, outcomeOf, refusalOf } from './helpers.ts';

// So that a call which wrongly waits is seen to hang, and not after five minutes.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('SPEC §5.7: a nested call is known', () => {
  const ways: [string, (ctx: Call, run: Run) => Promise<unknown>][] = [
    ['by the context that the body is handed', (ctx) => ctx.callTool('inner', {}, () => 'ran')],
    ['by the parent that is said', (ctx, run) => run.callTool('inner', {}, () => 'ran', { parent: ctx })],
    ['by itself', (_, run) => run.callTool('inner', {}, () => 'ran')],
    [
      'by itself, after awaits and a timer',
      async (_, run) => {
        await flush();
        const timer = gate();
        setTimeout(() => timer.open(), 10);
        vi.advanceTimersByTime(10);
        await timer.passed;
        return run.callTool('inner', {}, () => 'ran');
      },
    ],
    [
      'by itself, from a callback that was made inside the body',
      (_, run) => Promise.all([1].map(() => run.callTool('inner', {}, () => 'ran'))).then(([value]) => value),
    ],
    [
      'by hand',
      async (ctx, run) => run.afterCall(await run.beforeCall('inner', {}, { parent: ctx })) ?? 'ran',
    ],
  ];
  test.each(ways)('%s, and never waits', async (_, callInner) => {
    const run = createEnforcement().beginRun();
    const outer = run.callTool('outer', {}, async (ctx) => {
      expect(ctx.parent).toBeNull();
      const result = await callInner(ctx, run);
      expect(run.state).toMatchObject({ loopCount: { ACTING: 1 }, stepCount: 1, inFlight: 1 });
      return result;
    });
    expect(await outcomeOf(outer)).toEqual({ status: 'fulfilled', value: 'ran' });
    expect(run.log).toMatchObject([
      { tool: 'outer', callId: 'call-1', parent: null, path: ['IDLE', 'PLANNING', 'ACTING'] },
      { tool: 'inner', callId: 'call-2', parent: 'call-1', path: ['ACTING', 'ACTING'] },
    ]);
  });

  test('by its context alone, where the platform tells nothing: outside of the body', async () => {
    const run = createEnforcement().beginRun();
    const outer = await run.beforeCall('outer');
    const inner = outer.callTool('inner', {}, (ctx) => ctx.parent);
    expect(await outcomeOf(inner)).toEqual({ status: 'fulfilled', value: outer });
    expect(run.state).toMatchObject({ loopCount: { ACTING: 1 }, stepCount: 1, inFlight: 1 });
  });

  test('however deep: its parent is the innermost call', async () => {
    const run = createEnforcement().beginRun();
    const tools: (string | undefined)[] = [];
    const outer = run.callTool('a', {}, () =>
      run.callTool('b', {}, () =>
        run.callTool('c', {}, (ctx) => {
          for (let call: Call | null = ctx; call !== null; call = call.parent) tools.push(call.tool);
        }),
      ),
    );
    await outcomeOf(outer);
    expect(tools).toEqual(['c', 'b', 'a']);
    expect(run.state).toMatchObject({ stepCount: 3, phase: 'OBSERVING' });
  });

  test('two at once from one body do not wait for each other', async () => {
    const run = createEnforcement().beginRun();
    const [first, second] = [gate(), gate()];
    const outer = run.callTool('outer', {}, () =>
      Promise.all([
        run.callTool('first', {}, () => first.passed),
        run.callTool('second', {}, () => second.passed),
      ]),
    );
    await flush();
    expect(run.state).toMatchObject({ inFlight: 3, loopCount: { ACTING: 2 } });
    second.open();
    first.open();
    await outer;
    expect(run.state).toMatchObject({ stepCount: 3, inFlight: 0 });
  });

  test('two batches at once do not take each other for their callers', async () => {
    const enforcement = createEnforcement({ parallel: 'concurrent' });
    const run = enforcement.beginRun();
    const parents: (string | undefined)[] = [];
    const call = (name: string) =>
      run.callTool(name, {}, async () => {
        await flush();
        await run.callTool(`${name}-inner`, {}, (ctx) => parents.push(`${ctx.parent?.tool} > ${ctx.tool}`));
      });
    await Promise.all([call('a'), call('b')]);
    expect(parents.toSorted()).toEqual(['a > a-inner', 'b > b-inner']);
  });

  test('a body may be a function that was made outside of any run', async () => {
    const enforcement = createEnforcement();
    const inner = enforcement.tool('inner', () => 'ran');
    const outer = enforcement.tool('outer', () => inner());
    const log = await enforcement.withRun(async (run) => {
      await outer();
      return run.log;
    });
    expect(log).toMatchObject([
      { tool: 'outer', parent: null },
      { tool: 'inner', parent: 'call-1' },
    ]);
  });
});

describe('SPEC, Words: a call made from inside the body of another call of the same run is nested', () => {
  test('also where a call of another run lies between the two', async () => {
    const enforcement = createEnforcement();
    const [run, other] = [enforcement.beginRun(), enforcement.beginRun()];
    const outer = run.callTool('outer', {}, () =>
      other.callTool('between', {}, () => run.callTool('inner', {}, () => 'ran')),
    );
    expect(await outcomeOf(outer)).toEqual({ status: 'fulfilled', value: 'ran' });
    expect(run.log).toMatchObject([{ tool: 'outer' }, { tool: 'inner', parent: 'call-1' }]);
    expect(other.state).toMatchObject({ stepCount: 1, loopCount: {} });
  });

  test('also where the call between the two has ended, and left work behind', async () => {
    const enforcement = createEnforcement();
    const [run, other] = [enforcement.beginRun(), enforcement.beginRun()];
    const outer = run.callTool('outer', {}, async () => {
      let leftBehind: Promise<string> | undefined;
      await other.callTool('between', {}, () => {
        leftBehind = flush().then(() => run.callTool('inner', {}, () => 'ran'));
      });
      return leftBehind;
    });
    for (let i = 0; i < 5; i++) await flush();
    expect(await outcomeOf(outer)).toEqual({ status: 'fulfilled', value: 'ran' });
    expect(run.log).toMatchObject([{ tool: 'outer' }, { tool: 'inner', parent: 'call-1' }]);
  });

  test('also where the call between the two is of another enforcement', async () => {
    const [mine, theirs] = [createEnforcement(), createEnforcement()];
    const inner = mine.tool('inner', () => 'ran');
    const other = theirs.beginRun();
    const outcome = await outcomeOf(mine.withRun(() => other.callTool('between', {}, () => inner())));
    expect(outcome).toEqual({ status: 'fulfilled', value: 'ran' });
  });

  test('also from inside a child run that was begun in the body', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const outer = run.callTool('delegate', {}, () =>
      enforcement.withRun(() => run.callTool('inner', {}, () => 'ran')),
    );
    expect(await outcomeOf(outer)).toEqual({ status: 'fulfilled', value: 'ran' });
    expect(run.state).toMatchObject({ stepCount: 2 });
  });

  test('a call beside it is not: it waits', async () => {
    const run = createEnforcement().beginRun();
    const hold = gate();
    const outer = run.callTool('outer', {}, () => hold.passed);
    const beside = run.callTool('beside', {}, () => 'ran');
    expect(await outcomeOf(beside)).toEqual({ status: 'pending' });
    hold.open();
    await outer;
    expect(await beside).toBe('ran');
  });

  test('a call for which `parent: null` is said is top-level, wherever it is made', async () => {
    const supervisor = createSupervisor({ maxLoopsPerPhase: 0 });
    const run = createEnforcement({ supervisor, parallel: 'concurrent' }).beginRun();
    const outer = run.callTool('outer', {}, () => run.callTool('own', {}, () => 'ran', { parent: null }));
    expect(await outer).toBe('ran');
    const nested = run.callTool('outer', {}, () => run.callTool('nested', {}, () => 'ran'));
    expect((await refusalOf(nested)).code).toBe('loop-budget');
  });
});

describe('What a call is handed', () => {
  test('is its id, tool, run, caller and signal', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('search', { q: 1 }, (ctx) => {
      expect(ctx).toMatchObject({ id: 'call-1', tool: 'search', parent: null });
      expect(ctx.run).toBe(run);
      expect(ctx.signal).toBe(run.signal);
      expect(ctx.signal.aborted).toBe(false);
    });
    await run.callTool('search', {}, (ctx) => expect(ctx.id).toBe('mine'), { callId: 'mine' });
  });
});

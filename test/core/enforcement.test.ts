import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type EnforcementOptions,
  type Run,
} from '../../src/index.ts';
import { flush, gate, outcomeOf, refusalOf } from './helpers.ts';

describe('enforcement.tool', () => {
  test('returns a function with the same parameters and the same result', async () => {
    const enforcement = createEnforcement();
    const add = enforcement.tool('add', (a: number, b: number) => a + b);
    const search = enforcement.tool('search', async (query: string) => [`about ${query}`]);
    const none = enforcement.tool('none', () => undefined);
    await enforcement.withRun(async () => {
      const sum: number = await add(2, 3);
      expect(sum).toBe(5);
      expect(await search('xstate')).toEqual(['about xstate']);
      expect(await none()).toBeUndefined();
    });
  });

  test('hands on `this`, every argument as it is, and what the tool throws', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxLoopsPerPhase: 9 }) });
    const error = new Error('the tool failed');
    const store = {
      items: ['a'],
      take: enforcement.tool('take', function (this: { items: string[] }, ...rest: unknown[]) {
        return [this.items, ...rest];
      }),
      fail: enforcement.tool('fail', () => {
        throw error;
      }),
    };
    const argument = {};
    await enforcement.withRun(async () => {
      const [items, first, ...others] = (await store.take(argument, undefined, null)) as unknown[];
      expect(items).toBe(store.items);
      expect(first).toBe(argument);
      expect(others).toEqual([undefined, null]);
      expect(await outcomeOf(store.fail())).toEqual({ status: 'rejected', error });
    });
  });

  test('tells checks and listeners the arguments: the one, or the list of them', async () => {
    const seen: unknown[] = [];
    const check = (call: { args?: unknown }) => {
      seen.push(call.args);
      return { allowed: true } as const;
    };
    const enforcement = createEnforcement({
      monitor: createMonitor({}, { checks: [{ name: 'see', check }] }),
    });
    const tool = enforcement.tool('tool', (..._: unknown[]) => {});
    await enforcement.withRun(async () => {
      await tool();
      await tool({ q: 1 });
      await tool('a', 'b');
    });
    expect(seen).toEqual([undefined, { q: 1 }, ['a', 'b']]);
  });

  test('is refused outside of a run, before and after one, and its function never starts', async () => {
    const enforcement = createEnforcement();
    let started = 0;
    const search = enforcement.tool('search', () => ++started);
    expect((await refusalOf(search())).code).toBe('no-active-run');
    await enforcement.withRun(() => {});
    expect((await refusalOf(search())).code).toBe('no-active-run');
    enforcement.beginRun();
    expect((await refusalOf(search())).code).toBe('no-active-run');
    expect(started).toBe(0);
  });

  test('is refused in a run of another enforcement', async () => {
    const [mine, theirs] = [createEnforcement(), createEnforcement()];
    const search = mine.tool('search', () => 'found');
    expect((await refusalOf(theirs.withRun(() => search()))).code).toBe('no-active-run');
    // Unless that one is inside a call of one of ours.
    const outer = mine.tool('outer', () => theirs.withRun(() => search()));
    expect(await mine.withRun(() => outer())).toBe('found');
  });

  test('takes a name and a function, and nothing else', () => {
    const { tool } = createEnforcement();
    for (const name of ['', undefined, null, 5, Symbol('search')]) {
      expect(() => tool(name as string, () => 1)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
    for (const fn of [undefined, null, 'search', {}]) {
      expect(() => tool('search', fn as () => number)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
  });

  test.each(['constructor', '__proto__', 'a.b', 'ä', ' ', 'propose.ANSWERING', '*'])(
    'takes %j for a name: tools are named by whoever wrote them',
    async (name) => {
      const enforcement = createEnforcement();
      const tool = enforcement.tool(name, () => 'ran');
      const run = await enforcement.withRun(async (own) => {
        expect(await tool()).toBe('ran');
        return own;
      });
      expect(run.log).toMatchObject([{ tool: name, allowed: true }]);
    },
  );
});

describe('enforcement.currentRun', () => {
  test('is the innermost run that the code is inside of', async () => {
    const enforcement = createEnforcement();
    expect(enforcement.currentRun()).toBeNull();
    await enforcement.withRun(async (outer) => {
      expect(enforcement.currentRun()).toBe(outer);
      await flush();
      expect(enforcement.currentRun()).toBe(outer);
      await outer.callTool('delegate', {}, async () => {
        expect(enforcement.currentRun()).toBe(outer);
        await enforcement.withRun((inner) => {
          expect(enforcement.currentRun()).toBe(inner);
        });
        expect(enforcement.currentRun()).toBe(outer);
      });
    });
    expect(enforcement.currentRun()).toBeNull();
  });

  test('is the run of the call whose body the code is inside of', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    expect(enforcement.currentRun()).toBeNull();
    await run.callTool('search', {}, () => expect(enforcement.currentRun()).toBe(run));
  });

  test('knows nothing of the runs of other enforcements', async () => {
    const [mine, theirs] = [createEnforcement(), createEnforcement()];
    await theirs.withRun(() => expect(mine.currentRun()).toBeNull());
    await mine.withRun((own) =>
      own.callTool('delegate', {}, () => theirs.withRun(() => expect(mine.currentRun()).toBe(own))),
    );
  });
});

describe('SPEC §5.8: each run is its own', () => {
  test('a tool of an earlier run, called after a new one began, is refused by its own run', async () => {
    const enforcement = createEnforcement();
    const started: string[] = [];
    const search = enforcement.tool('search', (who: string) => started.push(who));
    const next = gate();
    let leftBehind: Promise<unknown> | undefined;
    await enforcement.withRun(
      () => {
        leftBehind = next.passed.then(() => search('old'));
      },
      { id: 'old' },
    );
    await enforcement.withRun(
      async (run) => {
        next.open();
        expect(await refusalOf(leftBehind as Promise<unknown>)).toMatchObject({
          code: 'run-completed',
          runId: 'old',
          phase: 'ANSWERING',
        });
        expect(run.state).toMatchObject({ phase: 'IDLE', stepCount: 0 });
        await search('new');
      },
      { id: 'new' },
    );
    expect(started).toEqual(['new']);
  });

  test('a call in flight that an earlier run left behind ends in its own run, and not in the new one', async () => {
    const enforcement = createEnforcement();
    const hold = gate();
    const old = enforcement.beginRun();
    const body = old.callTool('search', {}, () => hold.passed);
    old.finish();
    const run = enforcement.beginRun();
    const call = await run.beforeCall('search');
    hold.open();
    await body;
    expect(run.state).toMatchObject({ phase: 'ACTING', stepCount: 0, inFlight: 1 });
    expect(old.state).toMatchObject({ phase: 'ANSWERING', stepCount: 0, inFlight: 0 });
    run.afterCall(call);
  });

  /** An agent that makes `steps` calls, each of which asks for one nested call, and lets others go on in between. */
  async function agent(run: Run, steps: number): Promise<void> {
    for (let i = 0; i < steps; i++) {
      await Promise.resolve();
      await run.callTool('outer', {}, async () => {
        await flush();
        await run.callTool('inner', {}, () => flush());
      });
    }
  }

  test('two runs interleaved on one enforcement never see each other’s counts', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 4 }) });
    const [a, b] = [enforcement.beginRun(), enforcement.beginRun()];
    const ends = await Promise.allSettled([agent(a, 2), agent(b, 3)]);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(a.state).toMatchObject({ phase: 'OBSERVING', stepCount: 4, loopCount: {}, inFlight: 0 });
    expect(b.state).toMatchObject({ phase: 'OBSERVING', stepCount: 4, loopCount: {}, inFlight: 0 });
    a.abort('stop');
    expect(b.state.finished).toBe(false);
    expect(b.signal.aborted).toBe(false);
  });

  test('a hundred at once likewise, their tools found by themselves', async () => {
    const enforcement = createEnforcement();
    const inner = enforcement.tool('inner', () => flush());
    const outer = enforcement.tool('outer', async () => {
      await inner();
    });
    const runs = await Promise.all(
      Array.from({ length: 100 }, (_, i) =>
        enforcement
          .withRun(async (run) => {
            for (let n = 0; n < i % 4; n++) await outer();
            if (i % 10 === 0) run.abort('stop');
            return run;
          })
          .catch(() => i),
      ),
    );
    for (const [i, run] of runs.entries()) {
      if (i % 10 === 0) expect(run).toBe(i);
      else {
        const { state, log } = run as Run;
        expect(state).toMatchObject({ stepCount: 2 * (i % 4), loopCount: {}, inFlight: 0 });
        expect(log.map(({ callId }) => callId)).toEqual(
          Array.from({ length: 2 * (i % 4) }, (_, n) => `call-${n + 1}`),
        );
      }
    }
  });

  test('runs that are refused or aborted leave the others alone', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
    const runs = Array.from({ length: 5 }, () => enforcement.beginRun());
    const [first, second, ...rest] = runs;
    first?.abort('stop');
    await second?.callTool('search', {}, () => 1);
    await refusalOf(second?.callTool('search', {}, () => 1) as Promise<unknown>);
    for (const run of rest) expect(run.state).toEqual(enforcement.supervisor.initialState());
  });
});

describe('createEnforcement', () => {
  const monitor = createMonitor();
  const wrong: [string, unknown, string][] = [
    ['a parallel that is neither', { parallel: 'both' }, 'invalid-argument'],
    ['a log limit of NaN', { logLimit: Number.NaN }, 'invalid-argument'],
    ['a negative log limit', { logLimit: -1 }, 'invalid-argument'],
    ['a fractional log limit', { logLimit: 1.5 }, 'invalid-argument'],
    ['a log limit as text', { logLimit: '10' }, 'invalid-argument'],
    ['a check that does not exist', { enabledChecks: ['dfa', 'constructor'] }, 'invalid-check'],
    ['checks that are no list', { enabledChecks: 'dfa' }, 'invalid-argument'],
    ['a configuration besides a monitor', { config: {}, monitor }, 'invalid-argument'],
    ['a configuration with faults', { config: { dfa: { parallel: 'both' } } }, 'invalid-config'],
    [
      'two supervisors',
      { config: { agentProfile: { resourceBudget: { maxSteps: 1 } } }, supervisor: createSupervisor() },
      'two-supervisors',
    ],
  ];
  test.each(wrong)('%s is a clear error', (_, options, code) => {
    expect(() => createEnforcement(options as EnforcementOptions)).toThrow(expect.objectContaining({ code }));
  });

  test('takes table, budgets and policies from the configuration', async () => {
    const enforcement = createEnforcement({
      config: {
        agentProfile: { resourceBudget: { maxSteps: 1 } },
        dfa: { addTransitions: [['OBSERVING', 'ACTING']], onBudgetExhausted: 'terminate' },
      },
    });
    expect(enforcement.supervisor.transitions).toContainEqual(['OBSERVING', 'ACTING']);
    const run = enforcement.beginRun();
    await run.callTool('search', {}, () => 1);
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(run.state.phase).toBe('EXHAUSTED');
  });

  test('takes `parallel` from the configuration, unless it is said', async () => {
    const config = { dfa: { parallel: 'concurrent' } } as const;
    for (const [options, inFlight] of [
      [{ config }, 2],
      [{ monitor: createMonitor(config) }, 2],
      [{ config, parallel: 'serialize' }, 1],
    ] as const) {
      const run = createEnforcement(options).beginRun();
      const calls = [run.beforeCall('a'), run.beforeCall('b')];
      await flush();
      expect(run.state.inFlight).toBe(inFlight);
      run.finish();
      await Promise.allSettled(calls);
    }
  });

  test('takes the monitor’s supervisor; the same one may be given too', () => {
    const dfaSupervisor = createSupervisor({ maxSteps: 1 });
    const monitor = createMonitor({}, { dfaSupervisor });
    expect(createEnforcement({ monitor }).supervisor).toBe(dfaSupervisor);
    expect(createEnforcement({ monitor, supervisor: dfaSupervisor }).supervisor).toBe(dfaSupervisor);
    expect(() => createEnforcement({ monitor, supervisor: createSupervisor() })).toThrow(
      expect.objectContaining({ code: 'two-supervisors' }),
    );
  });

  test('takes options that are frozen; undefined is as absent', () => {
    const options = Object.freeze({ parallel: undefined, enabledChecks: undefined, logLimit: undefined });
    expect(createEnforcement(options).beginRun().validateActionPhase().allowed).toBe(true);
  });
});

describe('a slip in JavaScript, which would leave tools without the budget that was meant', () => {
  const wrong: [string, object][] = [
    ['budgets that belong to a supervisor', { maxSteps: 1 }],
    ['options instead of a supervisor', { supervisor: { maxSteps: 1 } }],
    ['a supervisor of null', { supervisor: null }],
    ['checks instead of a monitor', { monitor: [] }],
  ];
  test.each(wrong)('%s is refused at once', (_, options) => {
    expect(() => createEnforcement(options as EnforcementOptions)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});

import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  type Check,
  createEnforcement,
  createMonitor,
  createSupervisor,
  type EnforcementOptions,
  type Run,
  RunAbortedError,
  type SupervisorOptions,
} from '../../src/index.ts';
import { counters, flush, gate, outcomeOf, refusalOf, watch } from './helpers.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

/** An enforcement with one check, which waits at the gate for the tool `checked`. */
function withPendingCheck(options: EnforcementOptions = {}) {
  const answer = gate<{ allowed: true }>();
  const slow: Check = {
    name: 'slow',
    check: (call) => (call.tool === 'checked' ? answer.passed : { allowed: true }),
  };
  return {
    answer,
    enforcement: createEnforcement({ monitor: createMonitor({}, { checks: [slow] }), ...options }),
  };
}

const ENDS = [
  ['finish', (run: { finish(): void }) => run.finish(), ''],
  ['abort', (run: { abort(reason: string): void }) => run.abort('stop'), ': stop'],
] as const;

describe.each(ENDS)('SPEC §6.1 and §6.2: %s', (name, end, why) => {
  const completed = (tool: string) => `Cannot call ${tool}: agent run is already completed${why}`;

  test('ends the run in ANSWERING, once: later ends change nothing', () => {
    const run = createEnforcement().beginRun();
    end(run);
    const ended = run.state;
    expect(ended).toMatchObject({ phase: 'ANSWERING', finished: true, reason: why === '' ? null : 'stop' });
    run.finish();
    run.abort('again');
    expect(run.state).toEqual(ended);
  });

  test('while a check is pending: the body never starts, and the caller hears at once', async () => {
    const { answer, enforcement } = withPendingCheck();
    const refused: string[] = [];
    enforcement.on((event) => {
      if (event.type === 'call.refused') refused.push(event.tool);
    });
    const run = enforcement.beginRun();
    let started = false;
    const asked = run.callTool('checked', {}, () => {
      started = true;
    });
    const before = counters(run.state);
    end(run);
    expect(await refusalOf(asked)).toMatchObject({ message: completed('checked'), code: 'run-completed' });
    const ended = run.state;
    // What the check answers then is heard by no one: the call was refused once.
    answer.open({ allowed: true });
    await flush();
    expect(started).toBe(false);
    expect(run.state).toEqual(ended);
    expect(run.log).toHaveLength(1);
    expect(refused).toEqual(['checked']);
    expect(counters(ended)).toEqual({ ...before, phase: 'ANSWERING', finished: true });
  });

  test('while calls wait: all of them are refused at once', async () => {
    const run = createEnforcement().beginRun();
    const first = await run.beforeCall('first');
    let started = 0;
    const waiting = ['b', 'c', 'd'].map((tool) => run.callTool(tool, {}, () => ++started));
    end(run);
    const refusals = await Promise.all(waiting.map(refusalOf));
    expect(refusals.map(({ message }) => message)).toEqual(['b', 'c', 'd'].map(completed));
    run.afterCall(first);
    await flush();
    expect(started).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('while a waiting call is being checked: it is refused, and so are those behind it', async () => {
    const { enforcement } = withPendingCheck();
    const run = enforcement.beginRun();
    const first = await run.beforeCall('first');
    let started = 0;
    const waiting = ['checked', 'behind'].map((tool) => watch(run.callTool(tool, {}, () => ++started)));
    run.afterCall(first);
    await flush();
    end(run);
    for (const outcome of waiting)
      expect(await outcome()).toMatchObject({ error: { code: 'run-completed' } });
    expect(started).toBe(0);
  });

  test('while a body runs: its late end changes nothing, and is reported as late', async () => {
    const enforcement = createEnforcement();
    const ends: unknown[] = [];
    enforcement.on((event) => {
      if (event.type === 'call.ended') ends.push([event.call, event.ok, event.late]);
    });
    const run = enforcement.beginRun();
    const [good, bad] = [gate<string>(), gate()];
    const outer = run.callTool('outer', {}, async (ctx) => {
      const nested = outcomeOf(ctx.callTool('nested', {}, () => bad.passed));
      await good.passed;
      await nested;
      return 'late';
    });
    await flush();
    end(run);
    const ended = run.state;
    expect(ended).toMatchObject({ phase: 'ANSWERING', inFlight: 2, stepCount: 0 });
    bad.fail(new Error('the tool failed'));
    await flush();
    good.open('late');
    // The body is not stopped, and whoever called it gets what it answers.
    expect(await outer).toBe('late');
    expect(run.state).toEqual({ ...ended, inFlight: 0 });
    expect(ends).toEqual([
      ['call-2', false, true],
      ['call-1', true, true],
    ]);
  });

  test('in the middle of a batch: the rest of it does not start', async () => {
    for (const parallel of ['serialize', 'concurrent'] as const) {
      const { answer, enforcement } = withPendingCheck({ parallel });
      const run = enforcement.beginRun();
      const started: string[] = [];
      const call = (tool: string) =>
        watch(
          run.callTool(tool, {}, () => {
            started.push(tool);
            end(run);
          }),
        );
      const batch = ['first', 'checked', 'checked', 'last'].map(call);
      await flush();
      answer.open({ allowed: true });
      const outcomes = await Promise.all(batch.map((outcome) => outcome()));
      expect(outcomes.filter(({ status }) => status === 'pending')).toEqual([]);
      // Side by side, `last` was admitted before `first` began; one after another, nothing was.
      if (parallel === 'serialize') expect(started).toEqual(['first']);
      else expect(started).not.toContain('checked');
    }
  });

  test('from inside a body: a nested call asked for after it is refused', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('outer', {}, async (ctx) => {
      end(run);
      expect((await refusalOf(ctx.callTool('nested', {}, () => 'ran'))).message).toBe(completed('nested'));
    });
    expect(run.state.stepCount).toBe(0);
  });

  // `callTool` waits a moment between the admission and the body where the call had to wait: nothing may start in it.
  test('between the admission of a call and its body: the body never starts, and the call is given back', async () => {
    const run = createEnforcement().beginRun();
    const first = await run.beforeCall('first');
    let started = false;
    const waiting = watch(
      run.callTool('waiting', {}, () => {
        started = true;
      }),
    );
    run.afterCall(first);
    expect(run.state.inFlight).toBe(1);
    end(run);
    expect(await waiting()).toMatchObject({ error: { message: completed('waiting') } });
    expect(started).toBe(false);
    expect(run.state).toMatchObject({ phase: 'ANSWERING', stepCount: 1, inFlight: 0 });
    expect(run.log.at(-1)).toMatchObject({ tool: 'waiting', allowed: false, code: 'run-completed' });
  });

  test(`a call on a run after ${name} is refused where the dfa stage is off as well (§6.4)`, async () => {
    const run = createEnforcement({ enabledChecks: [] }).beginRun();
    end(run);
    expect((await refusalOf(run.callTool('search', {}, () => 1))).message).toBe(completed('search'));
    expect((await refusalOf(run.beforeCall('search'))).message).toBe(completed('search'));
    expect(run.admit('search')).toMatchObject({ message: completed('search') });
  });
});

describe('SPEC §6.2: the signal of an aborted run', () => {
  test('is aborted with the reason itself, whether it was asked for before or after', async () => {
    const reason = { why: 'the user left' };
    const run = createEnforcement().beginRun();
    let fired: unknown;
    const hold = gate();
    const body = run.callTool('search', {}, (ctx) => {
      ctx.signal.addEventListener('abort', () => {
        fired = ctx.signal.reason;
        hold.open();
      });
      return hold.passed;
    });
    run.abort(reason);
    expect(fired).toBe(reason);
    await body;
    const late = createEnforcement().beginRun();
    late.abort(reason);
    expect(late.signal).toMatchObject({ aborted: true, reason });
  });

  test('is not aborted by finish', () => {
    const run = createEnforcement().beginRun();
    const before = run.signal;
    run.finish();
    expect(before.aborted).toBe(false);
    expect(run.signal).toBe(before);
  });

  const reasons: [string, unknown, string][] = [
    ['a text', 'the user left', 'the user left'],
    ['an error', new Error('no budget'), 'no budget'],
    ['a number', 42, '42'],
    ['null', null, 'null'],
    ['an object', { toString: () => 'told' }, 'an object'],
    ['a symbol', Symbol('stop'), 'a symbol'],
    ['a function', () => 'stop', 'a function'],
    ['the empty text', '', ''],
  ];
  test.each(reasons)('%s is kept as a text, and said in each later refusal', async (_, reason, text) => {
    const run = createEnforcement().beginRun();
    run.abort(reason);
    expect(run.state.reason).toBe(text);
    expect((await refusalOf(run.callTool('search', {}, () => 1))).message).toBe(
      `Cannot call search: agent run is already completed: ${text}`,
    );
  });

  const hostile: [string, () => unknown][] = [
    ['an error whose message cannot be read', () => withMessage({ get: boom })],
    ['an error whose message is a symbol', () => withMessage({ value: Symbol('stop') })],
    ['an error whose message is an object that throws', () => withMessage({ value: { toString: boom } })],
    ['an error without a message', () => withMessage({ value: undefined })],
    ['a proxy that throws at every touch', () => new Proxy({}, { get: boom, getPrototypeOf: boom })],
    ['a revoked proxy', revoked],
  ];
  test.each(hostile)('%s as the reason ends the run as any other', async (_, reason) => {
    const enforcement = createEnforcement();
    const parent = await enforcement.beginRun().beforeCall('delegate');
    const run = enforcement.beginRun({ parent });
    const child = enforcement.beginRun({ parent: await run.beforeCall('delegate') });
    const { signal } = run;
    const waiting = watch(run.callTool('search', {}, () => 'ran', { parent: null }));
    run.abort(reason());
    expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true });
    expect(run.state.reason).toBeTypeOf('string');
    expect(signal.aborted).toBe(true);
    expect(child.state.finished).toBe(true);
    expect(await waiting()).toMatchObject({ error: { code: 'run-completed' } });
    expect((await refusalOf(run.callTool('search', {}, () => 'ran'))).code).toBe('run-completed');
  });

  test.each(hostile)('%s as the reason ends withRun too', async (_, reason) => {
    let run: Run | undefined;
    const outcome = watch(
      createEnforcement().withRun((own) => {
        run = own;
        return new Promise(() => {});
      }),
    );
    run?.abort(reason());
    expect((await outcome()).status).toBe('rejected');
  });
});

describe('SPEC §6.3: a deadline', () => {
  test('aborts the run first, and then rejects with an error that names the run and the deadline', async () => {
    const enforcement = createEnforcement();
    let aborted: boolean | undefined;
    const outcome = watch(
      enforcement.withRun(
        async (run) => {
          run.signal.addEventListener('abort', () => {
            aborted = run.state.finished;
          });
          await new Promise(() => {});
        },
        { id: 'nightly', timeoutMs: 1000 },
      ),
    );
    vi.advanceTimersByTime(999);
    expect(await outcome()).toEqual({ status: 'pending' });
    vi.advanceTimersByTime(1);
    expect(aborted).toBe(true);
    expect(await outcome()).toMatchObject({
      error: {
        code: 'run-timeout',
        runId: 'nightly',
        message: expect.stringMatching(/nightly.*deadline.*1000 ms/),
      },
    });
  });

  test('is kept also by a body that ignores the signal; its late end is without effect', async () => {
    const enforcement = createEnforcement();
    const hold = gate<string>();
    let late: unknown;
    const run = gate<{ state: unknown }>();
    const outcome = watch(
      enforcement.withRun(
        async (own) => {
          run.open(own);
          late = await own.callTool('stubborn', {}, () => hold.passed);
        },
        { timeoutMs: 50 },
      ),
    );
    await flush();
    vi.advanceTimersByTime(50);
    expect(await outcome()).toMatchObject({ status: 'rejected' });
    hold.open('at last');
    await flush();
    expect(late).toBe('at last');
    expect((await run.passed).state).toMatchObject({ phase: 'ANSWERING', stepCount: 0, inFlight: 0 });
  });

  test('refuses the calls that wait and the call whose check never answers, and later ones, and says why', async () => {
    const never: Check = { name: 'never', check: () => new Promise(() => {}) };
    const enforcement = createEnforcement({ monitor: createMonitor({}, { checks: [never] }) });
    const run = enforcement.beginRun({ timeoutMs: 50 });
    let started = 0;
    const asked = [1, 2].map(() => watch(run.callTool('search', {}, () => ++started)));
    vi.advanceTimersByTime(50);
    for (const outcome of asked) {
      expect(await outcome()).toMatchObject({
        error: {
          message: 'Cannot call search: agent run is already completed: timeout after 50 ms',
          result: null,
        },
      });
    }
    expect((await refusalOf(run.callTool('late', {}, () => ++started))).message).toContain(
      'timeout after 50 ms',
    );
    expect(run.state).toMatchObject({ stepCount: 0, loopCount: {}, inFlight: 0 });
    expect(started).toBe(0);
  });

  test('leaves no timer behind when the run ends before it', async () => {
    const enforcement = createEnforcement();
    await enforcement.withRun(() => 'done', { timeoutMs: 1000 });
    const run = enforcement.beginRun({ timeoutMs: 1000 });
    run.abort('stop');
    enforcement.beginRun({ timeoutMs: 1000 }).finish();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('A signal from outside', () => {
  test('aborts the run with its reason', async () => {
    const controller = new AbortController();
    const run = createEnforcement().beginRun({ signal: controller.signal });
    const reason = new Error('the request was closed');
    controller.abort(reason);
    expect(run.state).toMatchObject({ finished: true, reason: 'the request was closed' });
    expect(run.signal.reason).toBe(reason);
  });

  test('makes withRun reject with its reason, if that is an error', async () => {
    const controller = new AbortController();
    const reason = new Error('the request was closed');
    const outcome = watch(
      createEnforcement().withRun(() => new Promise(() => {}), { signal: controller.signal }),
    );
    controller.abort(reason);
    expect(await outcome()).toEqual({ status: 'rejected', error: reason });
  });

  test('that is aborted already: the agent never starts, and every call is refused', async () => {
    let started = false;
    const options = { signal: AbortSignal.abort('too late') };
    const outcome = await outcomeOf(
      createEnforcement().withRun(() => {
        started = true;
      }, options),
    );
    expect(outcome).toMatchObject({ error: { code: 'run-aborted', reason: 'too late' } });
    expect(started).toBe(false);
    const run = createEnforcement().beginRun(options);
    expect((await refusalOf(run.callTool('search', {}, () => 1))).message).toContain('too late');
  });

  test('holds on to no run that has ended', async () => {
    const { signal } = new AbortController();
    const enforcement = createEnforcement();
    await enforcement.withRun(() => 'done', { signal });
    await outcomeOf(enforcement.withRun(() => Promise.reject(new Error('no')), { signal, timeoutMs: 1000 }));
    enforcement.beginRun({ signal }).finish();
    enforcement.beginRun({ signal }).abort('stop');
    const parent = await enforcement.beginRun().beforeCall('delegate');
    enforcement.beginRun({ signal, parent });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    parent.run.finish();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });
});

describe('withRun', () => {
  test('finishes the run when the agent returns, throws or rejects (SPEC §6.1)', async () => {
    const enforcement = createEnforcement();
    const runs: { state: { finished: boolean; reason: string | null } }[] = [];
    const agents = [
      () => 'answer',
      async () => 'answer',
      () => boom(),
      () => Promise.reject(new Error('boom')),
    ];
    const outcomes = [];
    for (const agent of agents) {
      outcomes.push(
        await outcomeOf(
          enforcement.withRun((run) => {
            runs.push(run);
            return agent();
          }),
        ),
      );
    }
    expect(outcomes).toEqual([
      { status: 'fulfilled', value: 'answer' },
      { status: 'fulfilled', value: 'answer' },
      { status: 'rejected', error: new Error('boom') },
      { status: 'rejected', error: new Error('boom') },
    ]);
    for (const { state } of runs)
      expect(state).toMatchObject({ phase: 'ANSWERING', finished: true, reason: null });
  });

  test('rejects at once when its own agent aborts, with an error that names the run and keeps the reason', async () => {
    const reason = { why: 'enough' };
    const outcome = await outcomeOf(
      createEnforcement().withRun(
        (run) => {
          run.abort(reason);
          return new Promise(() => {});
        },
        { id: 'mine' },
      ),
    );
    expect(outcome.status === 'rejected' && outcome.error).toBeInstanceOf(RunAbortedError);
    expect(outcome).toMatchObject({
      error: { code: 'run-aborted', runId: 'mine', reason: 'an object', cause: reason },
    });
  });

  test('an error of the agent that comes after the abort is no unhandled rejection', async () => {
    const hold = gate();
    const outcome = watch(createEnforcement().withRun(() => hold.passed, { timeoutMs: 10 }));
    vi.advanceTimersByTime(10);
    expect(await outcome()).toMatchObject({ error: { code: 'run-timeout' } });
    // Vitest fails the file for an unhandled rejection.
    hold.fail(new Error('too late'));
    await flush();
  });

  test('an agent that is no function is a clear error, and no run begins', async () => {
    const enforcement = createEnforcement();
    let begun = 0;
    enforcement.on(() => ++begun);
    expect(await outcomeOf(enforcement.withRun('agent' as never))).toMatchObject({
      error: { code: 'invalid-argument' },
    });
    expect(begun).toBe(0);
  });
});

describe('SPEC §6.5: policies that end the run', () => {
  const terminating: SupervisorOptions = { onBudgetExhausted: 'terminate', onRejected: 'terminate' };
  const no: Check = {
    name: 'no',
    check: (call) => (call.tool === 'bad' ? { allowed: false } : { allowed: true }),
  };

  function begin(rules: SupervisorOptions, options: EnforcementOptions = {}) {
    const supervisor = createSupervisor({ ...terminating, ...rules });
    return createEnforcement({ supervisor, ...options }).beginRun();
  }

  test('a step budget that is exhausted moves the run to EXHAUSTED, with the message as the reason', async () => {
    const run = begin({ maxSteps: 1 });
    await run.callTool('search', {}, () => 'found');
    const { signal } = run;
    const refusal = await refusalOf(run.callTool('search', {}, () => 'found'));
    expect(refusal.code).toBe('step-budget');
    expect(run.state).toMatchObject({ phase: 'EXHAUSTED', finished: true, reason: refusal.message });
    expect(signal.reason).toBe(refusal.message);
    expect((await refusalOf(run.callTool('search', {}, () => 'found'))).message).toBe(
      'Cannot call search: agent run is already completed: Step budget exhausted: 1/1',
    );
  });

  test('a loop budget likewise', async () => {
    const run = begin({ maxLoopsPerPhase: 0 });
    await outcomeOf(run.callTool('search', {}, () => boom()));
    expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('loop-budget');
    expect(run.state).toMatchObject({ phase: 'EXHAUSTED', finished: true });
  });

  test('a nested call that is refused for a budget ends nothing', async () => {
    const run = begin({ maxLoopsPerPhase: 0 });
    await run.callTool('outer', {}, async (ctx) => {
      expect((await refusalOf(ctx.callTool('inner', {}, () => 1))).code).toBe('loop-budget');
    });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', finished: false });
  });

  test('nor does a call that is refused while another is in flight', async () => {
    const run = begin({ maxSteps: 1 }, { parallel: 'concurrent' });
    const first = await run.beforeCall('first');
    expect((await refusalOf(run.beforeCall('second'))).code).toBe('step-budget');
    expect(run.state).toMatchObject({ phase: 'ACTING', finished: false });
    run.afterCall(first);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1 });
  });

  test('an unreachable ACTING ends nothing: it is no budget', async () => {
    const run = begin({ transitions: [] });
    expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('action-unreachable');
    expect(run.state.finished).toBe(false);
  });

  test('a check that refuses moves the run to REJECTED; those that wait are refused', async () => {
    const run = begin({}, { monitor: createMonitor({}, { checks: [no] }) });
    const calls = [watch(run.callTool('bad', {}, () => 1)), watch(run.callTool('good', {}, () => 1))];
    const [bad, good] = await Promise.all(calls.map((outcome) => outcome()));
    expect(bad).toMatchObject({ error: { code: 'check-refused', message: 'Check "no" refused the call' } });
    expect(good).toMatchObject({ error: { code: 'run-completed' } });
    expect(run.state).toMatchObject({
      phase: 'REJECTED',
      finished: true,
      reason: 'Check "no" refused the call',
    });
  });

  test('by default nothing leads into either', async () => {
    const supervisor = createSupervisor({ maxSteps: 0 });
    const run = createEnforcement({ supervisor, monitor: createMonitor({}, { checks: [no] }) }).beginRun();
    await refusalOf(run.callTool('bad', {}, () => 1));
    expect(run.state).toMatchObject({ phase: 'IDLE', finished: false });
  });

  test('a proposal that is refused ends nothing: the policies are for calls', () => {
    const run = begin({ maxSteps: 0 });
    expect(run.propose('PLANNING')).toMatchObject({ code: 'step-budget' });
    expect(run.state.finished).toBe(false);
  });

  test('a proposal into a terminal phase ends the run there', async () => {
    const run = begin({});
    run.propose('PLANNING');
    expect(run.propose('ANSWERING').allowed).toBe(true);
    expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true, reason: null });
    expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('run-completed');
  });
});

function boom(): never {
  throw new Error('boom');
}

function withMessage(message: PropertyDescriptor): Error {
  return Object.defineProperty(new Error('hidden'), 'message', message);
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe('SPEC §6.3: a deadline bounds an agent whose run its budget has ended, too', () => {
  test('the caller gets the error at the deadline, though the agent never answers', async () => {
    vi.useRealTimers();
    const supervisor = createSupervisor({ maxSteps: 0, onBudgetExhausted: 'terminate' });
    const enforcement = createEnforcement({ supervisor });
    const hanging = enforcement.withRun(
      async (run) => {
        await run.callTool('search', {}, () => 1).catch(() => undefined);
        expect(run.state.phase).toBe('EXHAUSTED');
        await new Promise(() => undefined);
      },
      { timeoutMs: 20 },
    );
    await expect(hanging).rejects.toMatchObject({ code: 'run-timeout' });
  });
});

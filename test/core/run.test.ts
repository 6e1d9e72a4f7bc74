import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type Call,
  createEnforcement,
  createMonitor,
  createSupervisor,
  DEFAULT_PHASES,
  type EnforcementOptions,
  Refusal,
  type Run,
  type RunOptions,
  type SupervisorOptions,
} from '../../src/index.ts';
import { counters, gate, outcomeOf, refusalOf } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

function begin(rules: SupervisorOptions = {}, options: EnforcementOptions = {}): Run {
  return createEnforcement({ supervisor: createSupervisor(rules), ...options }).beginRun();
}

const succeed = (run: Run, tool = 'search') => run.callTool(tool, {}, () => tool);
const fail = (run: Run) =>
  run
    .callTool('search', {}, () => {
      throw new Error('the tool failed');
    })
    .catch((error: Error) => error);

describe('SPEC §2.1: the step budget', () => {
  test('of 0 refuses all: no body ever starts', async () => {
    const run = begin({ maxSteps: 0 });
    let started = 0;
    const refusal = await refusalOf(run.callTool('search', {}, () => ++started));
    expect(refusal.message).toBe('Step budget exhausted: 0/0');
    expect(started).toBe(0);
    expect(counters(run.state)).toEqual(counters(createSupervisor().initialState()));
  });

  test('of 1 allows one call, and the refusals after it change nothing', async () => {
    const run = begin({ maxSteps: 1 });
    await succeed(run);
    const before = counters(run.state);
    for (let i = 0; i < 3; i++) await refusalOf(succeed(run));
    expect(counters(run.state)).toEqual(before);
    expect(before).toEqual({ phase: 'OBSERVING', stepCount: 1, loopCount: {}, inFlight: 0, finished: false });
  });

  test('of Infinity allows as many as there are', async () => {
    const run = begin({ maxSteps: Number.POSITIVE_INFINITY });
    for (let i = 0; i < 200; i++) await succeed(run);
    expect(run.state.stepCount).toBe(200);
  });

  test('counts calls that ended well: a call that failed leaves its place to the next', async () => {
    const run = begin({ maxSteps: 1, maxLoopsPerPhase: 9 });
    for (let i = 0; i < 5; i++) await fail(run);
    expect(run.state.stepCount).toBe(0);
    expect(await succeed(run)).toBe('search');
  });

  test.each(['serialize', 'concurrent'] as const)(
    'eight calls at once under a budget of six: six bodies start, with parallel: %s',
    async (parallel) => {
      const run = begin({ maxSteps: 6 }, { parallel });
      const hold = gate();
      let started = 0;
      const calls = Array.from({ length: 8 }, (_, i) =>
        outcomeOf(
          run.callTool('search', { i }, async () => {
            started += 1;
            if (parallel === 'concurrent') await hold.passed;
            return i;
          }),
        ),
      );
      await Promise.all(calls);
      expect(started).toBe(6);
      if (parallel === 'concurrent') expect(run.state).toMatchObject({ stepCount: 0, inFlight: 6 });
      hold.open();
      await Promise.all(calls);
      expect(run.state).toMatchObject({ stepCount: 6, inFlight: 0, phase: 'OBSERVING' });
    },
  );

  test('eight calls at once whose checks are still pending: six are reserved, two refused at once', async () => {
    const answer = gate<{ allowed: true }>();
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check: () => answer.passed }] });
    const run = begin({ maxSteps: 6 }, { monitor, parallel: 'concurrent' });
    let started = 0;
    const calls = Array.from({ length: 8 }, () => run.callTool('search', {}, () => ++started));
    const refused = calls.slice(6).map(refusalOf);
    for (const refusal of await Promise.all(refused)) expect(refusal.code).toBe('step-budget');
    expect(started).toBe(0);
    answer.open({ allowed: true });
    await Promise.all(calls.slice(0, 6));
    expect(started).toBe(6);
    expect(run.state.stepCount).toBe(6);
  });
});

describe('SPEC §2.2 and §5.5: the loop budget', () => {
  test('is not touched by calls one after another', async () => {
    const run = begin({ maxLoopsPerPhase: 0 });
    for (let i = 0; i < 10; i++) await succeed(run);
    expect(run.state).toMatchObject({ stepCount: 10, loopCount: {} });
  });

  test('bounds how often a failing tool is tried in a row: the first try and three more', async () => {
    const run = begin();
    let tries = 0;
    for (let i = 0; i < 6; i++) {
      await outcomeOf(
        run.callTool('flaky', {}, () => {
          tries += 1;
          throw new Error('again');
        }),
      );
    }
    expect(tries).toBe(4);
    expect(run.state).toMatchObject({ phase: 'ACTING', stepCount: 0, loopCount: { ACTING: 3 }, inFlight: 0 });
    expect((await refusalOf(succeed(run))).code).toBe('loop-budget');
  });

  test('starts again after a call that ended well, or when the phase is left by a proposal', async () => {
    const run = begin();
    for (let i = 0; i < 3; i++) await fail(run);
    await succeed(run);
    expect(run.state.loopCount).toEqual({});
    for (let i = 0; i < 4; i++) await fail(run);
    expect(run.state.loopCount).toEqual({ ACTING: 3 });
    expect(run.propose('OBSERVING').allowed).toBe(true);
    expect(run.state.loopCount).toEqual({});
    expect(await succeed(run)).toBe('search');
  });

  test('with onToolError: observe a failure leaves ACTING, so that retries are no loops', async () => {
    const run = begin({ onToolError: 'observe', maxLoopsPerPhase: 0 });
    for (let i = 0; i < 10; i++) await fail(run);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 0, loopCount: {} });
  });

  test('of one, and two nested calls at once: one runs', async () => {
    const run = begin({ maxLoopsPerPhase: 1 });
    let started = 0;
    await run.callTool('outer', {}, async (ctx) => {
      const inner = () => ctx.callTool('inner', {}, () => ++started);
      const outcomes = await Promise.all([outcomeOf(inner()), outcomeOf(inner())]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    });
    expect(started).toBe(1);
  });

  test('of one, and two nested calls at once whose checks are pending: one is reserved', async () => {
    const answer = gate<{ allowed: true }>();
    const check = (call: { tool: string }) =>
      call.tool === 'inner' ? answer.passed : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check }] });
    const run = begin({ maxLoopsPerPhase: 1 }, { monitor });
    let started = 0;
    await run.callTool('outer', {}, async (ctx) => {
      const first = ctx.callTool('inner', {}, () => ++started);
      const second = await refusalOf(ctx.callTool('inner', {}, () => ++started));
      expect(second.message).toContain('Loop budget exhausted in ACTING: 0/1');
      expect(run.state.loopCount).toEqual({});
      answer.open({ allowed: true });
      await first;
      expect(run.state.loopCount).toEqual({ ACTING: 1 });
    });
    expect(started).toBe(1);
  });
});

describe('SPEC §5.2 and §5.5: where a call leaves the run', () => {
  test('in ACTING while it is in flight, then in OBSERVING', async () => {
    const run = begin();
    await run.callTool('search', {}, () => {
      expect(counters(run.state)).toEqual({
        phase: 'ACTING',
        stepCount: 0,
        loopCount: {},
        inFlight: 1,
        finished: false,
      });
    });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
  });

  test('after a nested call the outer one is still acting; the outcome of the last to end decides', async () => {
    const run = begin();
    const outer = await run.beforeCall('outer');
    const inner = await run.beforeCall('inner', {}, { parent: outer });
    run.afterCall(inner);
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 1, stepCount: 1 });
    run.failCall(outer, new Error('the tool failed'));
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 0, stepCount: 1 });
  });

  test('a body that throws before its first await fails like any other, and the caller gets its error', async () => {
    const run = begin();
    expect(await fail(run)).toEqual(new Error('the tool failed'));
    expect(run.state).toMatchObject({ phase: 'ACTING', inFlight: 0 });
  });

  test.each([undefined, null, 0, 'text', false])('a body may throw %j: it is handed on', async (thrown) => {
    const run = begin();
    const outcome = await outcomeOf(
      run.callTool('search', {}, () => {
        throw thrown;
      }),
    );
    expect(outcome).toEqual({ status: 'rejected', error: thrown });
    expect(run.state).toMatchObject({ stepCount: 0, inFlight: 0 });
  });
});

describe('SPEC §5.4: the end of a call', () => {
  test('a second end changes nothing, whichever it is', async () => {
    const run = begin();
    const call = await run.beforeCall('search');
    run.afterCall(call);
    const before = run.state;
    run.afterCall(call);
    run.failCall(call);
    expect(run.state).toEqual(before);
    const failed = await run.beforeCall('search');
    run.failCall(failed);
    run.afterCall(failed);
    expect(run.state).toMatchObject({ phase: 'ACTING', stepCount: 1, inFlight: 0 });
  });

  test('a body that ends its own call by hand does not count twice', async () => {
    const run = begin();
    await run.callTool('search', {}, (ctx) => run.afterCall(ctx));
    expect(run.state).toMatchObject({ stepCount: 1, inFlight: 0 });
  });

  test('a call of another run, or what is no call, is an error and changes nothing', async () => {
    const enforcement = createEnforcement();
    const [run, other] = [enforcement.beginRun(), enforcement.beginRun()];
    const call = await other.beforeCall('search');
    const before = [run.state, other.state];
    for (const wrong of [call, null, undefined, {}, { ...call }, Object.create(call), 'c1']) {
      expect(() => run.afterCall(wrong as never)).toThrow(/call must be/);
      expect(() => run.failCall(wrong as never)).toThrow(/call must be/);
    }
    expect([run.state, other.state]).toEqual(before);
  });

  test('calls are told apart though they were given the same id', async () => {
    const run = begin({}, { parallel: 'concurrent' });
    const calls = [
      await run.beforeCall('a', {}, { callId: 'c1' }),
      await run.beforeCall('b', {}, { callId: 'c1' }),
    ];
    for (const call of calls) run.afterCall(call);
    expect(run.state).toMatchObject({ stepCount: 2, inFlight: 0, phase: 'OBSERVING' });
  });
});

describe('What a call is asked with', () => {
  const wrong: [string, (run: Run) => Promise<unknown>][] = [
    ['no tool', (run) => run.callTool(undefined as never, {}, () => 1)],
    ['an empty tool', (run) => run.callTool('', {}, () => 1)],
    ['a symbol for a tool', (run) => run.callTool(Symbol('search') as never, {}, () => 1)],
    ['a String object for a tool', (run) => run.beforeCall(new String('search') as never)],
    ['no body', (run) => run.callTool('search', {}, undefined as never)],
    ['a body that is no function', (run) => run.callTool('search', {}, { call() {} } as never)],
    ['a call id that is a number', (run) => run.beforeCall('search', {}, { callId: 5 as never })],
    ['a call id that is a symbol', (run) => run.beforeCall('search', {}, { callId: Symbol('5') as never })],
    ['a parent that is no call', (run) => run.beforeCall('search', {}, { parent: {} as never })],
    ['a parent that is an id', (run) => run.beforeCall('search', {}, { parent: 'c1' as never })],
  ];
  test.each(wrong)('%s is an error, and reserves nothing', async (_, ask) => {
    const run = begin({ maxSteps: 1 });
    expect(await outcomeOf(ask(run))).toMatchObject({ error: { code: 'invalid-argument' } });
    expect(counters(run.state)).toEqual(counters(createSupervisor().initialState()));
    expect(await succeed(run)).toBe('search');
  });

  test('a parent from another run is an error that names both runs', async () => {
    const enforcement = createEnforcement();
    const other = enforcement.beginRun({ id: 'other' });
    const run = enforcement.beginRun({ id: 'mine' });
    const parent = await other.beforeCall('search');
    const outcome = await outcomeOf(run.callTool('search', {}, () => 1, { parent }));
    expect(outcome).toMatchObject({ error: { code: 'invalid-argument' } });
    expect(outcome).toMatchObject({ error: { message: expect.stringMatching(/mine.*other/) } });
    expect(run.state.inFlight).toBe(0);
  });

  const hostile: [string, () => unknown][] = [
    ['a toString that throws', () => ({ toString: () => boom() })],
    ['a toJSON that throws', () => ({ toJSON: () => boom() })],
    ['a getter that throws', () => Object.defineProperty({}, 'q', { enumerable: true, get: boom })],
    ['a Symbol.toPrimitive that throws', () => ({ [Symbol.toPrimitive]: () => boom() })],
    ['a proxy that throws at every touch', () => new Proxy({}, trapsThatThrow())],
    ['a revoked proxy', revoked],
    ['a circle', circle],
    ['a bigint', () => 5n],
  ];
  test.each(hostile)('arguments with %s do no harm: the call is made', async (_, args) => {
    const check = () => ({ allowed: true }) as const;
    const monitor = createMonitor({}, { checks: [{ name: 'all', check }] });
    for (const options of [{}, { monitor }]) {
      const enforcement = createEnforcement(options);
      enforcement.on(() => {});
      const run = enforcement.beginRun();
      expect(await run.callTool('search', args(), () => 'found')).toBe('found');
      expect(run.log).toMatchObject([{ tool: 'search', allowed: true }]);
      expect(run.state.stepCount).toBe(1);
    }
  });

  test.each(hostile)('arguments with %s do no harm to a refusal either', async (_, args) => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 0 }) });
    enforcement.on(() => {});
    const run = enforcement.beginRun();
    expect((await refusalOf(run.callTool('search', args(), () => 1))).code).toBe('step-budget');
  });
});

describe('What a body may be', () => {
  test('a promise of a subclass, or a thenable, is waited for', async () => {
    class Slow<T> extends Promise<T> {}
    const run = begin();
    const hold = gate<string>();
    const subclass = run.callTool('search', {}, () => Slow.resolve(hold.passed));
    expect(await outcomeOf(subclass)).toEqual({ status: 'pending' });
    expect(run.state.inFlight).toBe(1);
    hold.open('found');
    expect(await subclass).toBe('found');
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const thenable = { then: (resolve: (value: string) => void) => resolve('found') } as PromiseLike<string>;
    expect(await run.callTool('search', {}, () => thenable)).toBe('found');
    expect(run.state).toMatchObject({ stepCount: 2, inFlight: 0 });
  });

  test('a thenable that throws, or answers twice, ends its call once', async () => {
    const run = begin({ maxLoopsPerPhase: 9 });
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    const throwing = { then: () => boom() } as unknown as PromiseLike<string>;
    expect(await outcomeOf(run.callTool('search', {}, () => throwing))).toMatchObject({
      error: { message: 'boom' },
    });
    const hasty = {
      // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
      then(resolve: (value: string) => void, reject: (error: unknown) => void) {
        resolve('found');
        reject(new Error('no'));
        boom();
      },
    } as PromiseLike<string>;
    expect(await run.callTool('search', {}, () => hasty)).toBe('found');
    expect(run.state).toMatchObject({ stepCount: 1, inFlight: 0, phase: 'OBSERVING' });
  });

  test('what it answers is handed on as it is', async () => {
    const run = begin();
    for (const value of [
      undefined,
      null,
      0,
      Number.NaN,
      Symbol.iterator,
      { allowed: false },
      [1],
      new Error('a value'),
    ]) {
      expect(await run.callTool('search', {}, () => value)).toBe(value);
    }
  });
});

describe('A run decides as its supervisor does on its state', () => {
  // Two ways to the same decision (§3, §4): the pure one, and the one that a live run makes.
  test('after any sequence of calls, failures, proposals and nested calls', async () => {
    const move = fc.oneof(
      fc.record({ do: fc.constant('propose' as const), target: fc.constantFrom(...DEFAULT_PHASES, 'FOO') }),
      fc.record({ do: fc.constantFrom('call' as const, 'fail' as const, 'nest' as const, 'close' as const) }),
    );
    const rules = fc.record({
      maxSteps: fc.integer({ min: 0, max: 5 }),
      maxLoopsPerPhase: fc.integer({ min: 0, max: 2 }),
      onToolError: fc.constantFrom('hold' as const, 'observe' as const),
    });
    await fc.assert(
      fc.asyncProperty(rules, fc.array(move, { maxLength: 25 }), async (rules, moves) => {
        const supervisor = createSupervisor(rules);
        supervisor.addTransition('OBSERVING', 'OBSERVING');
        const run = createEnforcement({ supervisor }).beginRun();
        const open: Call[] = [];
        for (const step of moves) {
          const before = run.state;
          const wanted = supervisor.validateActionPhase(before);
          expect(run.validateActionPhase()).toEqual(wanted);
          if (step.do === 'propose') {
            const asked = supervisor.proposeTransition(before, step.target);
            expect(run.propose(step.target)).toEqual(asked);
            expect(run.state).toEqual(asked.allowed ? asked.state : before);
            continue;
          }
          const parent = open.at(-1) ?? null;
          if (step.do === 'close') {
            if (parent !== null) run.afterCall(open.pop() ?? parent);
            continue;
          }
          // Top-level calls would wait while others are open.
          if (parent !== null && step.do !== 'nest') continue;
          const answer = run.admit('tool', {}, { parent });
          if (answer instanceof Promise) throw new Error('expected an answer at once');
          if (answer instanceof Refusal) {
            const code = before.finished ? 'run-completed' : wanted.allowed || wanted.code;
            expect(answer).toMatchObject({ code });
            expect(run.state).toEqual(before);
            continue;
          }
          if (!wanted.allowed) throw new Error('admitted, though the supervisor refuses');
          expect(run.state).toEqual({ ...wanted.state, inFlight: before.inFlight + 1 });
          if (step.do === 'fail') run.failCall(answer);
          else if (step.do === 'call') run.afterCall(answer);
          else open.push(answer);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('How a run is begun', () => {
  test('each has an id of its own, or the one that it was given', () => {
    const enforcement = createEnforcement();
    const ids = Array.from({ length: 100 }, () => enforcement.beginRun().id);
    expect(new Set(ids).size).toBe(100);
    expect(enforcement.beginRun({ id: 'mine' }).id).toBe('mine');
  });

  const wrong: [string, RunOptions][] = [
    ['an id that is no text', { id: 5 as never }],
    ['a signal that is none', { signal: {} as never }],
    ['a signal that is null', { signal: null as never }],
    ['a signal that can only be listened to', { signal: { aborted: false, addEventListener() {} } as never }],
    ['a controller in place of its signal', { signal: new AbortController() as never }],
    ['a budget that is neither', { budget: 'none' as never }],
    ['a timeout of NaN', { timeoutMs: Number.NaN }],
    ['a timeout of 0', { timeoutMs: 0 }],
    ['a negative timeout', { timeoutMs: -5 }],
    ['a timeout longer than a timer can wait', { timeoutMs: 2 ** 31 }],
    ['a timeout as text', { timeoutMs: '50' as never }],
    ['a timeout of null', { timeoutMs: null as never }],
    ['a depth of NaN', { maxDepth: Number.NaN }],
    ['a negative depth', { maxDepth: -1 }],
    ['a depth as text', { maxDepth: '3' as never }],
    ['a depth of null', { maxDepth: null as never }],
    ['a fractional depth', { maxDepth: 2.5 }],
    ['a parent that is no call', { parent: {} as never }],
  ];
  test.each(wrong)('%s is a clear error, and no run begins', (_, options) => {
    const enforcement = createEnforcement();
    const events: string[] = [];
    enforcement.on((event) => events.push(event.type));
    expect(() => enforcement.beginRun(options)).toThrow(
      expect.objectContaining({
        code: 'invalid-argument',
        message: expect.stringMatching(/ must be .*got /),
      }),
    );
    expect(events).toEqual([]);
  });

  test('its state is a picture: it does not change, and changing it changes nothing', async () => {
    const run = begin();
    const before = run.state;
    await succeed(run);
    expect(before).toMatchObject({ phase: 'IDLE', stepCount: 0 });
    Object.assign(run.state, { stepCount: -50, phase: 'ANSWERING' });
    Object.assign(run.state.loopCount, { ACTING: -50 });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, loopCount: {} });
  });
});

describe('SPEC §7: the stage off', () => {
  test('no budget and no table is enforced; phases and counts are kept', async () => {
    const supervisor = createSupervisor({ maxSteps: 1, maxLoopsPerPhase: 0 });
    supervisor.removeTransition('PLANNING', 'ACTING');
    const run = createEnforcement({ supervisor, enabledChecks: [] }).beginRun();
    for (let i = 0; i < 3; i++) await succeed(run);
    await run.callTool('outer', {}, (ctx) => ctx.callTool('inner', {}, () => 'found'));
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 5, inFlight: 0 });
  });

  test('finished runs still refuse (§6.4), and so do the other checks', async () => {
    const check = (call: { tool: string }) => ({ allowed: call.tool === 'search' }) as { allowed: true };
    const monitor = createMonitor({}, { checks: [{ name: 'only-search', check }] });
    const run = begin({ maxSteps: 0 }, { monitor, enabledChecks: ['only-search'] });
    expect(await succeed(run)).toBe('search');
    expect((await refusalOf(succeed(run, 'send_email'))).code).toBe('check-refused');
    run.finish();
    expect((await refusalOf(succeed(run))).code).toBe('run-completed');
  });
});

function boom(): never {
  throw new Error('boom');
}

function trapsThatThrow(): ProxyHandler<object> {
  return { get: boom, has: boom, ownKeys: boom, getPrototypeOf: boom, getOwnPropertyDescriptor: boom };
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function circle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

test('options that are no object are a clear error', () => {
  for (const options of [null, 'options', 5]) {
    const wrong = expect.objectContaining({ code: 'invalid-argument' });
    expect(() => createEnforcement(options as never)).toThrow(wrong);
    expect(() => createEnforcement().beginRun(options as never)).toThrow(wrong);
    expect(() => createSupervisor(options as never)).toThrow(wrong);
  }
});

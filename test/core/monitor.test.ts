import { describe, expect, test } from 'vitest';
import {
  type Check,
  type CheckAnswer,
  createEnforcement,
  createMonitor,
  createSupervisor,
  type EnforcementOptions,
  type Monitor,
  PhasegateError,
  type RunState,
  type ToolCall,
} from '../../src/index.ts';
import { counters, flush, gate, outcomeOf, refusalOf, stateIn, watch } from './helpers.ts';

const allow: Check = { name: 'allow', check: () => ({ allowed: true }) };
const deny: Check = { name: 'deny', check: () => ({ allowed: false, code: 'no', message: 'Not today' }) };

function monitorOf(...checks: Check[]): Monitor {
  return createMonitor({}, { checks });
}

function answering(answer: () => unknown): Monitor {
  return monitorOf({ name: 'odd', check: answer as () => CheckAnswer });
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof PhasegateError) return error.code;
    throw error;
  }
  return 'no error';
}

describe('SPEC §8.1: validate', () => {
  const call: ToolCall = { tool: 'search', args: { q: 1 } };
  const idle = createSupervisor().initialState();

  test('answers what each check said, in order', async () => {
    expect(await monitorOf(allow).validate(call, idle)).toEqual({
      allowed: true,
      stage: null,
      code: null,
      message: null,
      checks: [
        { name: 'dfa', allowed: true, code: null, message: null },
        { name: 'allow', allowed: true, code: null, message: null },
      ],
    });
  });

  test('stops at the first that refuses, and answers by which stage and why', async () => {
    let asked = 0;
    const never: Check = { name: 'never', check: () => ({ allowed: ++asked > 0 }) as CheckAnswer };
    expect(await monitorOf(deny, never).validate(call, idle)).toEqual({
      allowed: false,
      stage: 'deny',
      code: 'no',
      message: 'Not today',
      checks: [
        { name: 'dfa', allowed: true, code: null, message: null },
        { name: 'deny', allowed: false, code: 'no', message: 'Not today' },
      ],
    });
    expect(asked).toBe(0);
  });

  test('its dfa check is validateActionPhase on the state', async () => {
    const dfaSupervisor = createSupervisor({ maxSteps: 1 });
    const monitor = createMonitor({}, { dfaSupervisor, checks: [allow] });
    expect(monitor.supervisor).toBe(dfaSupervisor);
    expect(await monitor.validate(call, stateIn('OBSERVING', { stepCount: 1 }))).toMatchObject({
      allowed: false,
      stage: 'dfa',
      code: 'step-budget',
      message: 'Step budget exhausted: 1/1',
      checks: [{ name: 'dfa', allowed: false }],
    });
    const configured = createMonitor({ agentProfile: { resourceBudget: { maxSteps: 0 } } });
    expect(await configured.validate(call, idle)).toMatchObject({ code: 'step-budget' });
    expect(await monitorOf().validate(call, stateIn('OBSERVING', { stepCount: 50 }))).toMatchObject({
      message: 'Step budget exhausted: 50/50',
    });
  });

  test('refuses a state that cannot be one, and never rejects', async () => {
    for (const state of [stateIn('IDLE', { stepCount: -1 }), null, undefined]) {
      expect(await monitorOf().validate(call, state as RunState)).toMatchObject({
        allowed: false,
        stage: 'dfa',
        code: 'check-failed',
      });
    }
  });

  test('waits for one check before it asks the next', async () => {
    const order: string[] = [];
    const check = (name: string): Check => ({
      name,
      check: async () => {
        order.push(`${name} asked`);
        await flush();
        order.push(`${name} answered`);
        return { allowed: true };
      },
    });
    await monitorOf(check('a'), check('b')).validate(call, idle);
    expect(order).toEqual(['a asked', 'a answered', 'b asked', 'b answered']);
  });

  test('a check is handed the call and the state before it, and may be a method', async () => {
    const seen: unknown[] = [];
    class Quota implements Check {
      readonly name = 'quota';
      #left = 1;
      check(call: ToolCall, state: RunState): CheckAnswer {
        seen.push(call, state);
        return this.#left-- > 0 ? { allowed: true } : { allowed: false };
      }
    }
    const run = createEnforcement({ monitor: monitorOf(new Quota()) }).beginRun({ id: 'r1' });
    const outer = await run.beforeCall('search', { q: 1 }, { callId: 'c1' });
    await refusalOf(run.beforeCall('search', { q: 2 }, { parent: outer }));
    expect(seen).toEqual([
      { tool: 'search', args: { q: 1 }, callId: 'c1', runId: 'r1', parent: null },
      stateIn('IDLE'),
      { tool: 'search', args: { q: 2 }, callId: 'call-2', runId: 'r1', parent: 'c1' },
      stateIn('ACTING', { inFlight: 1 }),
    ]);
  });
});

describe('SPEC §8.1: enabledChecks', () => {
  const state = createSupervisor().initialState();

  test('says which checks run, and in which order', async () => {
    const order: string[] = [];
    const check = (name: string): Check => ({
      name,
      check: () => {
        order.push(name);
        return { allowed: true };
      },
    });
    const monitor = createMonitor(
      { enabledChecks: ['b', 'dfa', 'a'] },
      { checks: ['a', 'b', 'c'].map(check) },
    );
    expect(monitor.checkNames).toEqual(['dfa', 'a', 'b', 'c']);
    expect(monitor.enabledChecks).toEqual(['b', 'dfa', 'a']);
    const { checks } = await monitor.validate({ tool: 'search' }, state);
    expect(checks.map(({ name }) => name)).toEqual(['b', 'dfa', 'a']);
    expect(order).toEqual(['b', 'a']);
  });

  test('of none allows all', async () => {
    const monitor = createMonitor({ enabledChecks: [] }, { checks: [deny] });
    expect(await monitor.validate({ tool: 'search' }, state)).toMatchObject({ allowed: true, checks: [] });
    const run = createEnforcement({ monitor }).beginRun();
    expect(await run.callTool('search', {}, () => 'found')).toBe('found');
  });

  test('of the enforcement stand before those of the monitor', async () => {
    const monitor = createMonitor({ enabledChecks: ['dfa'] }, { checks: [deny] });
    const run = createEnforcement({ monitor, enabledChecks: ['deny'] }).beginRun();
    expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('no');
  });

  test('a name given twice runs once', async () => {
    const monitor = createMonitor({ enabledChecks: ['allow', 'allow'] }, { checks: [allow] });
    expect(monitor.enabledChecks).toEqual(['allow']);
  });

  test('a name that is no check is an error that names the ones there are', () => {
    for (const name of ['dfo', '', 'constructor', 'DFA']) {
      const make = () => createMonitor({ enabledChecks: [name] }, { checks: [allow] });
      expect(codeOf(make)).toBe('invalid-check');
      expect(make).toThrow(/There are: dfa, allow$/);
    }
  });
});

describe('What a check may be', () => {
  const wrong: [string, unknown][] = [
    ['no name', { check: allow.check }],
    ['an empty name', { name: '', check: allow.check }],
    ['a name that is no text', { name: 5, check: allow.check }],
    ['no function', { name: 'odd' }],
    ['the name of the monitor’s own', { name: 'dfa', check: allow.check }],
    ['nothing', undefined],
    ['null', null],
    ['a function', allow.check],
  ];
  test.each(wrong)('%s is an error when the monitor is made', (_, check) => {
    expect(codeOf(() => monitorOf(check as Check))).toBe('invalid-check');
  });

  test('a name given twice, or checks that are no list, are errors', () => {
    expect(codeOf(() => monitorOf(allow, deny, { ...allow }))).toBe('invalid-check');
    expect(codeOf(() => createMonitor({}, { checks: allow as never }))).toBe('invalid-argument');
  });

  test.each(['constructor', '__proto__', 'toString'])('the name %s is one like any other', async (name) => {
    const run = createEnforcement({ monitor: monitorOf({ ...deny, name }) }).beginRun();
    expect(await refusalOf(run.callTool('search', {}, () => 1))).toMatchObject({ stage: name, code: 'no' });
  });
});

describe('SPEC §8.1: anything but { allowed: true } refuses', () => {
  const odd: [string, () => unknown][] = [
    ['throws', () => boom()],
    ['throws what is no error', () => thrown('no')],
    ['throws undefined', () => thrown(undefined)],
    ['throws a proxy that throws at every touch', () => thrown(hostileProxy())],
    ['throws a revoked proxy', () => thrown(revoked())],
    ['throws an error whose message cannot be read', () => thrown(withMessage({ get: boom }))],
    ['throws an error whose message is no text', () => thrown(withMessage({ value: 5 }))],
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['rejects with undefined', () => Promise.reject(undefined)],
    ['answers nothing', () => undefined],
    ['answers null', () => null],
    ['answers true', () => true],
    ['answers 1', () => 1],
    ['answers "allowed"', () => 'allowed'],
    ['answers an empty object', () => ({})],
    ['answers an empty list', () => []],
    ['answers a truthy allowed', () => ({ allowed: 'yes' })],
    ['answers allowed: 1', () => ({ allowed: 1 })],
    ['answers allowed: {}', () => ({ allowed: {} })],
    ['answers a Boolean object', () => ({ allowed: new Boolean(true) })],
    ['answers a promise of allowed', () => ({ allowed: Promise.resolve(true) })],
    ['answers a function', () => () => ({ allowed: true })],
    ['answers an allowed that throws', () => Object.defineProperty({}, 'allowed', { get: boom })],
    ['answers an allowed that is true the second time', () => twoFaced()],
    ['answers a proxy that throws at every touch', () => hostileProxy()],
    ['answers a revoked proxy', () => revoked()],
    ['answers a promise of undefined', async () => undefined],
    ['answers a promise of true', async () => true],
    ['answers a thenable that rejects', () => thenable((_, reject) => reject(new Error('boom')))],
    ['answers a thenable that throws', () => thenable(() => boom())],
    ['answers a thenable of nothing', () => thenable((resolve) => resolve(undefined))],
    ['answers a then that throws when read', () => Object.defineProperty({}, 'then', { get: boom })],
  ];

  describe.each(odd)('a check that %s', (_, answer) => {
    test.each(['serialize', 'concurrent'] as const)(
      'refuses as check-failed, and nothing has changed (parallel: %s)',
      async (parallel) => {
        const run = createEnforcement({ monitor: answering(answer), parallel }).beginRun();
        const before = run.state;
        let started = false;
        const asked = run.callTool('search', {}, () => {
          started = true;
        });
        const refusal = await refusalOf(asked);
        expect(refusal.code).toBe('check-failed');
        expect(refusal.message).toMatch(/failed: ./);
        expect(refusal.result).toMatchObject({ allowed: false });
        expect(started).toBe(false);
        expect(run.state).toEqual(before);
        // The reservation was given back: the next has its turn, and is refused for the same.
        expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('check-failed');
        expect(run.propose('PLANNING').allowed).toBe(true);
      },
    );
  });

  test.each([
    ['a thenable', () => thenable((resolve) => resolve({ allowed: true }))],
    ['a promise', async () => ({ allowed: true })],
    ['an object with more in it', () => ({ allowed: true, message: 'with pleasure', code: 'no' })],
    ['an object without a prototype', () => Object.assign(Object.create(null), { allowed: true })],
    ['a frozen object', () => Object.freeze({ allowed: true })],
  ] as [string, () => unknown][])('%s of { allowed: true } allows', async (_, answer) => {
    const run = createEnforcement({ monitor: answering(answer) }).beginRun();
    expect(await run.callTool('search', {}, () => 'found')).toBe('found');
  });

  test.each([
    [{ allowed: false }, 'check-refused', 'Check "odd" refused the call'],
    [{ allowed: false, code: 'quota' }, 'quota', 'Check "odd" refused the call'],
    [{ allowed: false, message: 'No more' }, 'check-refused', 'No more'],
    [{ allowed: false, code: '', message: '' }, 'check-refused', 'Check "odd" refused the call'],
    [{ allowed: false, code: 5, message: {} }, 'check-refused', 'Check "odd" refused the call'],
  ])('%j refuses with %s: %s', async (answer, code, message) => {
    const run = createEnforcement({ monitor: answering(() => answer) }).beginRun();
    expect(await refusalOf(run.callTool('search', {}, () => 1))).toMatchObject({
      code,
      message,
      stage: 'odd',
    });
  });
});

describe('SPEC §5.2: the checks of the monitor and the decision of the phase machine', () => {
  test('a refusal by the phase machine comes before any check, with `result` null', async () => {
    let asked = 0;
    const count: Check = { name: 'count', check: () => ({ allowed: ++asked > 0 }) };
    const supervisor = createSupervisor({ maxSteps: 0 });
    const run = createEnforcement({ supervisor, monitor: monitorOf(count) }).beginRun();
    expect(await refusalOf(run.callTool('search', {}, () => 1))).toMatchObject({
      stage: 'dfa',
      result: null,
    });
    run.finish();
    expect(await refusalOf(run.callTool('search', {}, () => 1))).toMatchObject({
      stage: 'enforcement',
      result: null,
    });
    expect(asked).toBe(0);
  });

  test('a refusal by a check carries what the monitor answered', async () => {
    const run = createEnforcement({ monitor: monitorOf(allow, deny) }).beginRun();
    const refusal = await refusalOf(run.callTool('search', {}, () => 1));
    expect(refusal.stage).toBe('deny');
    expect(refusal.result).toEqual({
      allowed: false,
      stage: 'deny',
      code: 'no',
      message: 'Not today',
      checks: [
        { name: 'dfa', allowed: true, code: null, message: null },
        { name: 'allow', allowed: true, code: null, message: null },
        { name: 'deny', allowed: false, code: 'no', message: 'Not today' },
      ],
    });
  });

  test('while a check is pending nothing has moved, and the call is reserved in both budgets', async () => {
    const answer = gate<CheckAnswer>();
    const supervisor = createSupervisor({ maxSteps: 1 });
    const monitor = monitorOf({ name: 'slow', check: () => answer.passed });
    const run = createEnforcement({ supervisor, monitor, parallel: 'concurrent' }).beginRun();
    const before = run.state;
    const asked = watch(run.callTool('search', {}, () => 'found'));
    await flush();
    expect(run.state).toEqual(before);
    expect((await refusalOf(run.callTool('more', {}, () => 1))).message).toBe(
      'Step budget exhausted: 0/1 (1 call in flight)',
    );
    answer.open({ allowed: false });
    expect(await asked()).toMatchObject({ status: 'rejected' });
    expect(counters(run.state)).toEqual(counters(before));
    expect(run.validateActionPhase().allowed).toBe(true);
  });

  test('the loop that a refused call had reserved is given back', async () => {
    const supervisor = createSupervisor({ maxLoopsPerPhase: 1 });
    const only: Check = { name: 'only', check: (call) => ({ allowed: call.tool !== 'bad' }) as CheckAnswer };
    const run = createEnforcement({ supervisor, monitor: monitorOf(only) }).beginRun();
    const outer = await run.beforeCall('outer');
    for (let i = 0; i < 3; i++) await refusalOf(run.beforeCall('bad', {}, { parent: outer }));
    expect(run.state.loopCount).toEqual({});
    await run.beforeCall('good', {}, { parent: outer });
    expect(run.state.loopCount).toEqual({ ACTING: 1 });
  });

  test('a check that calls a tool of its own run waits for itself, and is no deadlock for ever', async () => {
    let asked: Promise<unknown> | undefined;
    const monitor = monitorOf({
      name: 'asks',
      check: async (call) => {
        if (call.tool === 'search') {
          asked = run.callTool('judge', {}, () => 1);
          await asked;
        }
        return { allowed: true };
      },
    });
    const run = createEnforcement({ monitor, waitTimeoutMs: 1 }).beginRun();
    await expect(run.callTool('search', {}, () => 1)).rejects.toMatchObject({ code: 'check-failed' });
    await expect(asked).rejects.toMatchObject({ code: 'wait-timeout' });
    expect(run.state).toMatchObject({ phase: 'IDLE', inFlight: 0 });
  });

  test('a check may end the run: the call is refused, also if the check allows it', async () => {
    const monitor = monitorOf({
      name: 'ends',
      check: () => {
        run.abort('the check said so');
        return { allowed: true };
      },
    });
    const run = createEnforcement({ monitor }).beginRun();
    expect((await refusalOf(run.callTool('search', {}, () => 1))).code).toBe('run-completed');
    expect(run.state).toMatchObject({ phase: 'ANSWERING', inFlight: 0, stepCount: 0 });
  });
});

describe('A monitor of the user’s own, which is trusted no more than a check', () => {
  function enforcing(validate: () => unknown, options: EnforcementOptions = {}) {
    const monitor = {
      supervisor: null,
      config: {},
      checkNames: ['dfa', 'own'],
      enabledChecks: ['dfa', 'own'],
      validate,
    } as Monitor;
    return createEnforcement({ ...options, monitor }).beginRun();
  }

  const odd: [string, () => unknown][] = [
    ['throws', () => boom()],
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['answers nothing', () => undefined],
    ['answers null', async () => null],
    ['answers true', async () => true],
    ['answers a truthy allowed', async () => ({ allowed: 'yes' })],
    ['answers an empty object', async () => ({})],
    ['refuses without a reason', async () => ({ allowed: false })],
    ['answers an allowed that throws', async () => Object.defineProperty({}, 'allowed', { get: boom })],
    [
      'answers a code that throws',
      async () => Object.defineProperty({ allowed: false }, 'code', { get: boom }),
    ],
    ['rejects with an error that cannot be read', () => Promise.reject(withMessage({ get: boom }))],
    ['rejects with a revoked proxy', () => Promise.reject(revoked())],
  ];
  test.each(odd)('one that %s refuses: no call is admitted by it, and none is lost', async (_, validate) => {
    const run = enforcing(validate);
    let started = false;
    const asked = run.callTool('search', {}, () => {
      started = true;
    });
    const waiting = watch(run.callTool('next', {}, () => 1));
    const outcome = await outcomeOf(asked);
    expect(started).toBe(false);
    expect(outcome).toMatchObject({ error: { name: 'ToolExecutionBlocked', tool: 'search' } });
    expect((await waiting()).status).toBe('rejected');
    expect(run.state).toMatchObject({ phase: 'IDLE', stepCount: 0, inFlight: 0 });
    expect(run.propose('PLANNING').allowed).toBe(true);
  });

  test('one that allows, allows', async () => {
    const run = enforcing(async () => ({ allowed: true }));
    expect(await run.callTool('search', {}, () => 'found')).toBe('found');
  });
});

function boom(): never {
  throw new Error('boom');
}

function thrown(value: unknown): never {
  throw value;
}

function twoFaced(): object {
  let reads = 0;
  return Object.defineProperty({}, 'allowed', { get: () => ++reads > 1 || 'no' });
}

function hostileProxy(): object {
  return new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom });
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function withMessage(message: PropertyDescriptor): Error {
  return Object.defineProperty(new Error('hidden'), 'message', message);
}

function thenable(
  then: (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void,
): object {
  return { then };
}

import { afterEach, describe, expect, test, vi } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import { createMonitor, type Monitor, RunAbortedError } from '../../src/index.ts';
import { phasegateObject, type RemoteCall, remoteEnforcement } from '../../src/restate/index.ts';
import { ensurePromiseWithResolvers } from '../../src/restate/promise-with-resolvers.ts';
import { eventsIn, sink } from '../audit/support.ts';
import { replayed } from '../replay/support.ts';
import { pass, refusalOf, serve } from './world.ts';

afterEach(() => {
  vi.useRealTimers();
});

const page = () => 'a page';

describe('withRun', () => {
  test('answers what the agent answers, and finishes the run', async () => {
    const one = serve().machine();
    const [answer, run] = await one.withRun(
      async (it) => [await it.callTool('search', {}, page), it] as const,
    );
    expect(answer).toBe('a page');
    expect(await run.state()).toMatchObject({ phase: 'ANSWERING', finished: true, reason: null });
    expect(run.signal.aborted).toBe(false);
  });

  test('finishes the run of an agent that throws too', async () => {
    const { machine } = serve();
    let id = '';
    const failing = machine().withRun((run) => {
      id = run.id;
      throw new Error('no idea');
    });
    await expect(failing).rejects.toThrow('no idea');
    expect(await (await machine().joinRun(id)).state()).toMatchObject({ finished: true });
  });

  test('rejects at the deadline, even if the agent does not stop (SPEC §6.3)', async () => {
    vi.useFakeTimers();
    const one = serve().machine();
    const late = one.withRun(() => new Promise(() => {}), { timeoutMs: 1000 });
    const rejected = expect(late).rejects.toMatchObject({ code: 'run-timeout' });
    await pass(1000);
    await rejected;
  });

  test('rejects when the signal is aborted, with its reason, before or after the beginning', async () => {
    const one = serve().machine();
    await expect(one.withRun(page, { signal: AbortSignal.abort('too late') })).rejects.toMatchObject({
      code: 'run-aborted',
      reason: 'too late',
    });
    const controller = new AbortController();
    const stopped = one.withRun(
      (run) => {
        controller.abort(new Error('stop'));
        expect(run.signal.reason).toEqual(new Error('stop'));
        return new Promise(() => {});
      },
      { signal: controller.signal },
    );
    await expect(stopped).rejects.toThrow('stop');
  });

  test('goes on with a run that was begun before, and finishes it', async () => {
    const { machine } = serve();
    const run = await machine().beginRun({ id: 'seven' });
    const one = machine();
    await one.withRun((joined) => joined.callTool('search', {}, page), await one.joinRun('seven'));
    expect(await run.state()).toMatchObject({ finished: true, stepCount: 1 });
    await expect(one.withRun(page, await one.joinRun('seven'))).resolves.toBe('a page');
  });

  test('does not run an agent in a run that was aborted', async () => {
    const { machine } = serve();
    const one = machine();
    await (await machine().beginRun({ id: 'seven' })).abort('enough');
    const agent = vi.fn();
    await expect(one.withRun(agent, await one.joinRun('seven'))).rejects.toMatchObject({ reason: 'enough' });
    expect(agent).not.toHaveBeenCalled();
  });

  test('takes an agent', async () => {
    await expect(
      serve()
        .machine()
        .withRun('agent' as never),
    ).rejects.toMatchObject({ code: 'invalid-argument' });
  });
});

describe('a call', () => {
  test('that fails rejects as its body does, and is no step', async () => {
    const run = await serve().machine().beginRun();
    const failed = run.callTool('search', {}, () => {
      throw new Error('no network');
    });
    await expect(failed).rejects.toThrow('no network');
    expect(await run.state()).toMatchObject({ phase: 'ACTING', stepCount: 0, inFlight: 0 });
  });

  test('from inside another, by the context, is nested', async () => {
    const { machine } = serve();
    const run = await machine().beginRun();
    await run.callTool('research', {}, async (ctx: RemoteCall) => {
      expect(ctx.signal).toBe(run.signal);
      expect(await ctx.callTool('search', {}, page, { callId: 'c2' })).toBe('a page');
      expect(await run.state()).toMatchObject({ inFlight: 1, loopCount: { ACTING: 1 } });
    });
  });

  test('made in a body that has ended takes its turn like any other', async () => {
    const run = await serve().machine().beginRun();
    let left: (() => Promise<unknown>) | undefined;
    await run.callTool('research', {}, (ctx) => {
      left = () => ctx.callTool('search', {}, page);
    });
    await left?.();
    expect(await run.state()).toMatchObject({ stepCount: 2, loopCount: {} });
  });

  test('is refused here at once when the run has ended here', async () => {
    const { machine, restate } = serve();
    const fetch = vi.fn(restate.fetch);
    const run = await machine({ fetch }).beginRun();
    await run.abort('enough');
    fetch.mockClear();
    expect(await refusalOf(run.callTool('search', {}, page))).toEqual({
      code: 'run-completed',
      message: 'Cannot call search: agent run is already completed: enough',
    });
    await run.finish();
    await run.abort('again');
    expect(fetch).not.toHaveBeenCalled();
  });

  test('is given back when the run ended here while it was asked for', async () => {
    const { machine, restate } = serve();
    const one = machine({
      fetch: async (url, init) => {
        const answer = await restate.fetch(url, init);
        if (String(url).endsWith('/beforeCall')) void run.finish();
        return answer;
      },
    });
    const run = await one.beginRun();
    const body = vi.fn();
    expect(await refusalOf(run.callTool('search', {}, body))).toMatchObject({ code: 'run-completed' });
    await vi.waitFor(async () => expect(await run.state()).toMatchObject({ inFlight: 0, stepCount: 0 }));
    expect(body).not.toHaveBeenCalled();
  });

  test('ends in its own run only, and a second end changes nothing', async () => {
    const one = serve().machine();
    const [run, other] = [await one.beginRun(), await one.beginRun()];
    const call = await run.beforeCall('search');
    await expect(other.afterCall(call)).rejects.toMatchObject({ code: 'invalid-argument' });
    await run.afterCall(call);
    await run.failCall(call, new Error('late'));
    expect(await run.state()).toMatchObject({ stepCount: 1, phase: 'OBSERVING' });
  });

  test('that is withdrawn before it arrives is refused when it arrives', async () => {
    const { machine, restate } = serve();
    const run = await machine().beginRun();
    const key = { run: run.id, call: 'k' };
    await restate.invoke('phasegate', run.id, 'failCall', { ...key, error: 'no answer' });
    const asked = { ...key, tool: 'search', callId: null, parent: null };
    expect(await restate.invoke('phasegate', run.id, 'beforeCall', asked)).toMatchObject({
      is: 'refused',
      refusal: { code: 'call-withdrawn' },
    });
    expect(await run.state()).toMatchObject({ phase: 'IDLE', inFlight: 0 });
  });

  test('that the run was never asked for is no call', async () => {
    const { machine, restate } = serve();
    const run = await machine().beginRun();
    expect(await restate.invoke('phasegate', run.id, 'renewCall', { run: run.id, call: 'k' })).toMatchObject({
      is: 'fault',
      code: 'call-unknown',
    });
    const parent = { ...run.address, call: 'k' };
    await expect(machine().beginRun({ parent })).rejects.toMatchObject({ code: 'call-unknown' });
  });

  test('is asked for with arguments that can be told', async () => {
    const { machine } = serve();
    const run = await machine().beginRun();
    const invalid = { code: 'invalid-argument' };
    await expect(run.beforeCall('')).rejects.toMatchObject(invalid);
    await expect(run.beforeCall('search', 1n)).rejects.toMatchObject(invalid);
    await expect(run.beforeCall('search', {}, { callId: 7 as never })).rejects.toMatchObject(invalid);
    await expect(run.beforeCall('search', {}, { parent: {} as never })).rejects.toMatchObject(invalid);
    await expect(run.callTool('search', {}, 'body' as never)).rejects.toMatchObject(invalid);
    const other = await (await machine().beginRun()).beforeCall('search');
    await expect(run.beforeCall('search', {}, { parent: other })).rejects.toMatchObject(invalid);
    const silent = await machine({ sendArgs: false }).joinRun(run.id);
    await silent.callTool('search', 1n, page);
  });
});

test('checks and listeners of the service are told what a call is made with', async () => {
  const seen: unknown[] = [];
  const monitor = createMonitor(
    {},
    {
      checks: [
        { name: 'look', check: ({ args }) => ({ allowed: seen.push(args) > 0 }) as { allowed: true } },
      ],
    },
  );
  const { machine, enforcement } = serve({}, { supervisor: undefined, monitor });
  enforcement.on((event) => {
    if (event.type === 'call.started') seen.push(event.args);
  });
  const run = await machine().beginRun();
  await run.callTool('search', { q: 'xstate' }, page);
  await (await machine({ sendArgs: false }).joinRun(run.id)).callTool('search', { q: 'xstate' }, page);
  expect(seen).toEqual([{ q: 'xstate' }, { q: 'xstate' }, undefined, undefined]);
});

test('a proposal and a question say what the run says', async () => {
  const run = await serve().machine().beginRun();
  expect(await run.propose('PLANNING')).toMatchObject({ allowed: true, path: ['IDLE', 'PLANNING'] });
  expect(await run.propose('OBSERVING')).toMatchObject({ allowed: false, code: 'illegal-transition' });
  expect(await run.validateActionPhase()).toMatchObject({ allowed: true, path: ['PLANNING', 'ACTING'] });
});

describe('tools', () => {
  test('find their run, and are refused outside of one', async () => {
    const one = serve().machine();
    const add = one.tool('add', (a: number, b: number) => a + b);
    expect(await refusalOf(add(1, 2))).toEqual({
      code: 'no-active-run',
      message: 'Cannot call add: no agent run is active',
    });
    expect(await one.withRun(() => add(1, 2))).toBe(3);
    const run = await one.beginRun();
    expect(await run.inside(() => add(3, 4))).toBe(7);
  });

  test('have a name and a function', () => {
    const one = serve().machine();
    expect(() => one.tool('', () => 1)).toThrow('name must be the name of a tool');
    expect(() => one.tool('add', 1 as never)).toThrow('fn must be a function');
  });

  test('find it past runs that lie between and have ended', async () => {
    const one = serve().machine();
    const step = one.tool('step', () => one.currentRun()?.id);
    const [outer, between] = [await one.beginRun({ id: 'outer' }), await one.beginRun({ id: 'between' })];
    await outer.callTool('delegate', {}, (ctx) =>
      between.inside(async () => {
        await between.finish();
        return one.withRun(
          async (run) => {
            expect(run.parent).toEqual(ctx.address);
            expect(await step()).toBe('inner');
          },
          { id: 'inner' },
        );
      }),
    );
    expect((await outer.state()).stepCount).toBe(2);
  });
});

describe('where no answer comes', () => {
  test('it asks again, and the object answers as it did: nothing is charged twice', async () => {
    const { machine, restate } = serve();
    let lost = 0;
    const losing: typeof fetch = async (url, init) => {
      const answer = await restate.fetch(url, init);
      lost += 1;
      if (lost % 3 === 0) return answer;
      if (lost % 3 === 1) throw new TypeError('fetch failed', { cause: new Error('ECONNRESET') });
      return new Response('upstream', { status: 502 });
    };
    const run = await machine({ fetch: losing }).beginRun();
    for (let i = 0; i < 3; i++) await run.callTool('search', {}, page);
    expect((await run.state()).stepCount).toBe(3);
    expect(lost).toBeGreaterThan(20);
  });

  test('it gives up in time, and says what it was told last', async () => {
    vi.useFakeTimers();
    const busy = remoteEnforcement({
      ingress: 'http://restate/',
      timeoutMs: 2000,
      fetch: async () => new Response('busy', { status: 429 }),
    });
    const begun = busy.beginRun({ id: 'a b' });
    const rejected = expect(begun).rejects.toMatchObject({
      code: 'enforcement-unreachable',
      message: 'No answer from http://restate/phasegate/a%20b/begin within 2000 ms: 429 busy',
    });
    await pass(2000);
    await rejected;
  });

  test('it does not ask again where the answer will stay the same', async () => {
    const fetch = vi.fn(async () => new Response('who are you?', { status: 401 }));
    const stranger = remoteEnforcement({ ingress: 'http://restate', fetch });
    await expect(stranger.joinRun('r')).rejects.toMatchObject({
      message: expect.stringContaining('401 who are you?'),
    });
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  test('it gives up a server that holds the line and says nothing', async () => {
    vi.useFakeTimers();
    const silent: typeof fetch = (_, init) =>
      new Promise((_resolve, reject) =>
        init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)),
      );
    const one = remoteEnforcement({ ingress: 'http://restate', timeoutMs: 500, fetch: silent });
    const rejected = expect(one.joinRun('r')).rejects.toMatchObject({
      message: expect.stringMatching(/: no answer$/),
    });
    await pass(500);
    await rejected;
  });

  test.each([
    ['nonsense', 'is no JSON'],
    ['null', 'is nothing'],
    ['{"is":"admitted"}', 'lacks all else'],
    ['{"is":"done","view":{"state":{},"timedOut":false}}', 'has a state that is none'],
    ['{"is":"fault"}', 'is a fault without a name'],
  ])('it takes no answer for one that is none: %s', async (text) => {
    const { machine, restate } = serve();
    const odd: typeof fetch = async (url, init) =>
      String(url).endsWith('/beforeCall') ? new Response(text) : restate.fetch(url, init);
    const run = await machine({ fetch: odd }).beginRun();
    const body = vi.fn();
    expect(await refusalOf(run.callTool('search', {}, body))).toMatchObject({ code: 'answer-unreadable' });
    expect(body).not.toHaveBeenCalled();
  });

  test('nor an answer to another call for one to this', async () => {
    const { machine, restate } = serve();
    const crossed: typeof fetch = async (url, init) => {
      const answer = await restate.fetch(url, init);
      if (!String(url).endsWith('/beforeCall')) return answer;
      return Response.json({ ...((await answer.json()) as object), call: 'another' });
    };
    const run = await machine({ fetch: crossed }).beginRun();
    expect(await refusalOf(run.callTool('search', {}, page))).toMatchObject({ code: 'answer-unreadable' });
  });

  test('an end that cannot be reported is told to who asked for that, and leaves the result alone', async () => {
    vi.useFakeTimers();
    const { machine, restate } = serve();
    const told: unknown[] = [];
    const one = machine({
      reportMs: 1000,
      onUndelivered: (error, run, call) => {
        told.push([(error as { code: string }).code, run, call?.tool]);
        throw new Error('nobody minds this');
      },
      fetch: (url, init) =>
        /afterCall|failCall|finish/.test(String(url))
          ? Promise.reject(new Error('gone'))
          : restate.fetch(url, init),
    });
    const result = one.withRun((run) => run.callTool('search', {}, page), { id: 'r' });
    await pass(2000);
    expect(await result).toBe('a page');
    const run = { root: 'r', run: 'r' };
    expect(told).toEqual([
      ['enforcement-unreachable', run, 'search'],
      ['enforcement-unreachable', run, undefined],
    ]);
  });
});

describe('what is kept', () => {
  const key = 'a secret of 16 bytes or more';

  async function begun(options: { readonly key?: string }) {
    const world = serve({}, {}, options);
    const run = await world.machine().beginRun();
    await run.callTool('search', { when: new Date(0), nothing: undefined }, page);
    const call = () => refusalOf(run.callTool('search', {}, page));
    return { ...world, run, call };
  }

  test('is signed, with a key, and runs go on as without', async () => {
    const { run, call } = await begun({ key });
    expect(await call()).toBe('a page');
    expect((await run.state()).stepCount).toBe(2);
  });

  test.each(['"stepCount":1', '"deadline":null', '"signature":"'])(
    'is refused when it was edited at %s',
    async (member) => {
      const { restate, run, call } = await begun({ key });
      restate.edit('phasegate', run.id, (text) =>
        text.replace(member, (found) => found.replace(/1|null|$/, '0')),
      );
      const why = 'What is kept of this run cannot be used: it is not signed with this key';
      expect(await call()).toEqual({ code: 'saved-tree-refused', message: `Cannot call search: ${why}` });
      await expect(run.state()).rejects.toMatchObject({ code: 'saved-tree-refused', message: why });
    },
  );

  test('is refused without the key that signed it, and unsigned where there is a key', async () => {
    const signed = await begun({ key });
    phasegateObject(signed.restate.sdk, { enforcement: signed.enforcement });
    expect(await signed.call()).toMatchObject({
      message: expect.stringContaining('this service has no key'),
    });
    const unsigned = await begun({});
    phasegateObject(unsigned.restate.sdk, { enforcement: unsigned.enforcement, key });
    expect(await unsigned.call()).toMatchObject({ code: 'saved-tree-refused' });
  });

  test('is refused when it is of another version', async () => {
    const { restate, run, call } = await begun({});
    restate.edit('phasegate', run.id, (text) => text.replace('"version":1', '"version":2'));
    expect(await call()).toMatchObject({
      code: 'saved-tree-refused',
      message: expect.stringContaining('its version is 2, and this service reads 1'),
    });
  });

  test('is refused under other rules', async () => {
    const { restate, run, call } = await begun({});
    phasegateObject(restate.sdk, { enforcement: serve({ maxSteps: 4 }).enforcement });
    expect(await call()).toMatchObject({ code: 'saved-run-refused' });
    await expect(run.propose('PLANNING')).rejects.toMatchObject({ code: 'saved-run-refused' });
  });

  test('holds no more than is needed: a call that is over leaves its name', async () => {
    const { restate, run } = await begun({});
    const { settled } = restate.stateOf('phasegate', run.id)['tree'] as { settled: unknown };
    expect(settled).toEqual([[expect.any(String), { ended: { tool: 'search', callId: 'call-1' } }]]);
  });
});

test('an internal fault refuses (SPEC §9)', async () => {
  const { machine, restate, enforcement } = serve();
  const run = await machine().beginRun();
  const broken = {
    ...enforcement,
    resumeRun: () => {
      throw new TypeError('x is not a function');
    },
  };
  phasegateObject(restate.sdk, { enforcement: broken as never });
  expect(await refusalOf(run.callTool('search', {}, page))).toEqual({
    code: 'enforcement-failed',
    message: 'Cannot call search: The enforcement failed: x is not a function',
  });
});

describe('what cannot be decided', () => {
  test('is refused when its turn comes, and holds up no one: here a call from a body of another run', async () => {
    const one = serve().machine();
    const run = await one.beginRun();
    const first = await run.beforeCall('delegate');
    const inner = await (await one.beginRun({ parent: first })).beforeCall('inner');
    const lost = refusalOf(run.callTool('lost', {}, page, { parent: { ...inner.address, run: run.id } }));
    const next = refusalOf(run.callTool('next', {}, page));
    await run.afterCall(first);
    expect(await lost).toMatchObject({ code: 'invalid-argument' });
    expect(await next).toBe('a page');
    expect((await run.state()).stepCount).toBe(2);
  });

  test('has an answer, whatever is asked', async () => {
    const { machine, restate } = serve();
    const run = await machine().beginRun();
    for (const handler of [
      'begin',
      'beforeCall',
      'afterCall',
      'renewCall',
      'propose',
      'awaitTurn',
      'state',
    ]) {
      for (const request of [null, 7, {}, { run: run.id, call: 'c', tool: '', parent: {} }]) {
        expect(await restate.invoke('phasegate', run.id, handler, request)).toHaveProperty('is');
      }
    }
  });
});

test('why a monitor refused may be more than JSON can hold', async () => {
  const monitor = createMonitor();
  const refuses = { allowed: false, stage: 'mine', code: 'no', message: 'No', checks: [], seen: 10n };
  const mine: Monitor = {
    supervisor: monitor.supervisor,
    config: monitor.config,
    checkNames: ['mine'],
    enabledChecks: ['mine'],
    validate: async () => refuses,
  };
  const run = await serve({}, { monitor: mine }).machine().beginRun();
  expect(await refusalOf(run.callTool('search', {}, page))).toEqual({ code: 'no', message: 'No' });
});

describe('options', () => {
  const { restate, enforcement } = serve();

  test.each([
    [{ enforcement: {} }, 'enforcement must be what createEnforcement returns'],
    [{ enforcement, name: '' }, 'name must be a name'],
    [{ enforcement, leaseMs: 10 }, 'leaseMs must be 1000 or more'],
    [{ enforcement, idleMs: -1 }, 'idleMs must be milliseconds'],
    [{ enforcement, retentionMs: 0 }, 'retentionMs must be milliseconds'],
    [{ enforcement, key: undefined }, 'key must be'],
    [{ enforcement, lease: 1 }, 'There is no option "lease" of a phasegate object'],
  ])('of the object: %o', (options, message) => {
    expect(() => phasegateObject(restate.sdk, options as never)).toThrow(message);
  });

  test('the SDK is given to the object', () => {
    expect(() => phasegateObject(undefined as never, { enforcement })).toThrow(
      "restate must be the SDK: import * as restate from '@restatedev/restate-sdk', got undefined",
    );
  });

  test.each([
    [{}, 'ingress must be an address'],
    [{ ingress: 'restate:8080' }, 'ingress must be an address'],
    [{ object: '' }, 'object must be a name'],
    [{ timeoutMs: Number.POSITIVE_INFINITY }, 'timeoutMs must be a time that ends'],
    [{ reportMs: 300_001 }, 'reportMs must be at most 300000'],
    [{ sendArgs: 'no' }, 'sendArgs must be true or false'],
    [{ onUndelivered: 1 }, 'onUndelivered must be a function'],
    [{ fetch: 1 }, 'fetch must be a function'],
    [{ headers: 'x' }, 'headers must be an object'],
    [{ retries: 1 }, 'There is no option "retries" of a remote enforcement'],
  ])('of a remote enforcement: %o', (options, message) => {
    const ingress =
      Object.keys(options).length === 0 || 'ingress' in options ? {} : { ingress: 'http://restate' };
    expect(() => remoteEnforcement({ ...ingress, ...options } as never)).toThrow(message);
  });

  test('timeoutMs is no more than the service keeps a call for', async () => {
    const { machine } = serve({}, {}, { leaseMs: 5000 });
    await expect(machine().beginRun()).rejects.toMatchObject({
      message: 'timeoutMs must be at most 5000, the leaseMs of the service, got 10000',
    });
  });

  test('of a run are those of a local one', async () => {
    const one = serve().machine();
    await expect(one.beginRun({ timeoutMs: 0 })).rejects.toMatchObject({ code: 'invalid-argument' });
    for (const id of ['', '.', '..', 'half \ud83d']) {
      await expect(one.beginRun({ id })).rejects.toMatchObject({ code: 'invalid-argument' });
      await expect(one.joinRun(id)).rejects.toMatchObject({ code: 'invalid-argument' });
    }
    await expect(one.joinRun({} as never)).rejects.toMatchObject({ code: 'invalid-argument' });
    await expect(one.joinRun(null as never)).rejects.toMatchObject({ code: 'invalid-argument' });
    const run = await one.beginRun({ maxDepth: Number.POSITIVE_INFINITY, budget: 'own' });
    expect(run.parent).toBeNull();
    const shallow = await one.beginRun({ maxDepth: 0 });
    expect(await refusalOf(one.beginRun({ parent: await shallow.beforeCall('delegate') }))).toMatchObject({
      code: 'depth-exceeded',
    });
  });
});

test('a run that is ended by its budget is ended for all who hold it', async () => {
  const { machine } = serve({ maxSteps: 1, onBudgetExhausted: 'terminate' });
  const run = await machine().beginRun();
  const there = await machine().joinRun(run.id);
  await run.callTool('search', {}, page);
  await refusalOf(run.callTool('search', {}, page));
  await there.state();
  expect(run.signal.reason).toBeInstanceOf(RunAbortedError);
  expect(there.signal.reason).toMatchObject({ code: 'run-aborted', reason: 'Step budget exhausted: 1/1' });
  expect(there.ended).toBe(true);
});

test('Promise.withResolvers is there when a service is made, and is that of the standard', async () => {
  const native = Object.getOwnPropertyDescriptor(Promise, 'withResolvers');
  Reflect.deleteProperty(Promise, 'withResolvers');
  try {
    ensurePromiseWithResolvers();
    const { withResolvers } = Promise as unknown as {
      withResolvers(): { promise: Promise<number>; resolve(n: number): void; reject(error: unknown): void };
    };
    const [one, two] = [withResolvers.call(Promise), withResolvers.call(Promise)];
    one.resolve(1);
    two.reject('no');
    expect(await one.promise).toBe(1);
    await expect(two.promise).rejects.toBe('no');
    expect(Object.keys(Promise)).toEqual([]);
    ensurePromiseWithResolvers();
    expect((Promise as unknown as { withResolvers: unknown }).withResolvers).toBe(withResolvers);
  } finally {
    Reflect.deleteProperty(Promise, 'withResolvers');
    if (native !== undefined) Object.defineProperty(Promise, 'withResolvers', native);
  }
});

test('An audit log of the service has a beginning at each request, and replays to what was decided', async () => {
  const { enforcement, machine } = serve({ maxSteps: 3 });
  const log = sink();
  enforcement.on(auditLog(log.stream));
  const one = machine();
  const run = await one.beginRun({ id: 'outer' });
  await run.callTool('ask', {}, async (call) => {
    const child = await one.beginRun({ id: 'inner', parent: call });
    await child.callTool('search', {}, page);
    await child.finish();
  });
  await run.callTool('search', {}, page);
  const refusal = await refusalOf(run.callTool('search', {}, page));
  await run.state();
  await run.finish();
  await run.state();

  const begun = eventsIn(log.text()).filter(({ type, run }) => type === 'run.started' && run === 'outer');
  expect(begun.filter(({ resumed }) => resumed === null)).toHaveLength(1);
  expect(begun.length).toBeGreaterThan(8);
  const { reports, faults } = await replayed(log.text(), {
    enforcement: { supervisor: enforcement.supervisor },
  });
  expect(faults).toEqual([]);
  expect(reports).toMatchObject([
    { run: 'outer', calls: 4, refused: 1, stepCount: 3, firstRefusal: refusal },
  ]);
});

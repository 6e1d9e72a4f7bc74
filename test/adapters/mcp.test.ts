import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  type PhasegateEvent,
  type SupervisorOptions,
} from '../../src/index.ts';
import { type Gate, type GateOptions, supervise } from '../../src/mcp/index.ts';

// What holds for any server, without the SDK, which compat installs.

type Handler = (args: object, extra: object) => Promise<Result>;

interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly text: string }[];
}

interface Transport {
  onclose?: () => void;
}

/** A server as the gate looks at it. */
class PlainServer {
  readonly server: { transport: Transport | undefined } = { transport: {} };
  readonly handlers = new Map<string, Handler>();

  registerTool(name: string, _config: object, handler: Handler): object {
    this.handlers.set(name, handler);
    return {};
  }

  call(tool: string, extra: object = {}): Promise<Result> {
    const handler = this.handlers.get(tool) as Handler;
    return handler({}, { signal: new AbortController().signal, ...extra });
  }

  close(): void {
    // As the SDK does: a server that is closed has no transport.
    const { transport } = this.server;
    this.server.transport = undefined;
    transport?.onclose?.();
  }
}

interface Setting {
  readonly gate: Gate;
  readonly events: PhasegateEvent[];
  readonly started: string[];
  /** A server whose tools, `ok` and `fail`, end like that. */
  serve(name: string): PlainServer;
}

function settingOf(rules: SupervisorOptions, options: GateOptions = {}): Setting {
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules) });
  const events: PhasegateEvent[] = [];
  enforcement.on((event) => events.push(event));
  const gate = supervise(enforcement, options);
  const started: string[] = [];
  return {
    gate,
    events,
    started,
    serve(name) {
      const server = gate.server(new PlainServer());
      for (const isError of [false, true]) {
        server.registerTool(isError ? 'fail' : 'ok', {}, async () => {
          started.push(name);
          return { isError, content: [{ text: name }] };
        });
      }
      return server;
    },
  };
}

const BOUNDLESS = { maxLoopsPerPhase: Number.POSITIVE_INFINITY };
const run = fc.constantFrom(undefined, 'a', 'b', '__proto__', 'not a name', 7, null);
const session = fc.nat({ max: 2 });

describe('whatever sessions are asked for', () => {
  it('each run makes the calls of its budget, in its own session, until that is closed', async () => {
    const call = fc.record({ session, run, tool: fc.constantFrom('ok', 'fail') });
    const close = fc.record({ session });
    const action = fc.oneof({ weight: 9, arbitrary: call }, { weight: 1, arbitrary: close });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 60 }), fc.nat({ max: 4 }), async (actions, maxSteps) => {
        const setting = settingOf({ ...BOUNDLESS, maxSteps }, { maxBlocked: Number.POSITIVE_INFINITY });
        const servers = ['0', '1', '2'].map(setting.serve);
        const steps = new Map<string, number>();
        const expected: string[] = [];
        const closed = new Set<number>();
        for (const asked of actions) {
          const server = servers[asked.session] as PlainServer;
          if (!('tool' in asked)) {
            server.close();
            closed.add(asked.session);
            continue;
          }
          const { tool, run: name } = asked;
          const meta = name === undefined ? {} : { _meta: { 'phasegate/run': name } };
          const { isError = false } = await server.call(tool, meta);
          const key = `${asked.session} ${name}`;
          const made = steps.get(key) ?? 0;
          const isNamed = name === undefined || (typeof name === 'string' && name !== 'not a name');
          const admitted = isNamed && made < maxSteps && !closed.has(asked.session);
          if (admitted) expected.push(`${asked.session}`);
          if (admitted && tool === 'ok') steps.set(key, made + 1);
          expect(isError).toBe(!admitted || tool === 'fail');
        }
        expect(setting.started).toEqual(expected);
        expect(setting.started).toHaveLength(
          setting.events.filter(({ type }) => type === 'call.started').length,
        );
      }),
      { numRuns: 60 },
    );
  });

  it('no more runs are live at once than there may be', async () => {
    const ids = fc.array(fc.nat({ max: 9 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(ids, fc.integer({ min: 1, max: 4 }), async (names, maxRuns) => {
        const setting = settingOf({ ...BOUNDLESS }, { maxRuns });
        const server = setting.serve('server');
        for (const name of names) {
          expect(await server.call('ok', { _meta: { 'phasegate/run': `${name}` } })).toMatchObject({
            isError: false,
          });
          const count = (wanted: string) => setting.events.filter(({ type }) => type === wanted).length;
          expect(count('run.started') - count('run.ended')).toBeLessThanOrEqual(maxRuns);
        }
        expect(setting.started).toHaveLength(names.length);
      }),
      { numRuns: 40 },
    );
  });
});

describe('a client that names run after run', () => {
  it('ends its own, and gives nobody else a new budget', async () => {
    const setting = settingOf({ maxSteps: 1 }, { maxRuns: 3 });
    const [quiet, loud] = [setting.serve('quiet'), setting.serve('loud')];
    await quiet.call('ok');
    for (let n = 0; n < 9; n += 1) await loud.call('ok', { _meta: { 'phasegate/run': `${n}` } });
    expect(await quiet.call('ok')).toMatchObject({ isError: true });
    // A third needs room, and has not used any.
    await setting.serve('third').call('ok');
    expect(await quiet.call('ok')).toMatchObject({ isError: true });
    expect(setting.started).toEqual(['quiet', ...Array(9).fill('loud'), 'third']);
  });

  it('takes the place of sessions that are closed, before anybody else has to go', async () => {
    const setting = settingOf({ maxSteps: 1 }, { maxRuns: 2 });
    const quiet = setting.serve('quiet');
    await quiet.call('ok');
    const gone = setting.serve('gone');
    await gone.call('ok');
    gone.close();
    await setting.serve('next').call('ok');
    expect(await quiet.call('ok')).toMatchObject({ isError: true });
  });
});

describe('sessions', () => {
  it('are known by their id, on whatever connection; it is neither shown nor told', async () => {
    const setting = settingOf({ maxSteps: 1 });
    const servers = [setting.serve('one'), setting.serve('other')];
    const results = [];
    for (const server of servers) results.push(await server.call('ok', { sessionId: 'secret' }));
    expect(results.map(({ isError }) => isError)).toEqual([false, true]);
    expect(JSON.stringify([results, setting.events])).not.toContain('secret');
  });

  it('that are closed stay closed for those who still know their id', async () => {
    const setting = settingOf({});
    const first = setting.serve('first');
    await first.call('ok', { sessionId: 'secret' });
    first.close();
    const again = await setting.serve('again').call('ok', { sessionId: 'secret' });
    expect(again.content[0]?.text).toContain('Cannot call ok: agent run is already completed');
    expect(setting.started).toEqual(['first']);
  });

  it('call what was told before when their connection is closed', async () => {
    const setting = settingOf({});
    const server = setting.serve('server');
    let told = 0;
    (server.server.transport as Transport).onclose = () => {
      told += 1;
    };
    await server.call('ok');
    await server.call('ok', { _meta: { 'phasegate/run': 'a' } });
    server.close();
    expect(told).toBe(1);
    expect(setting.events.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
  });
});

describe('options', () => {
  it.each<[object, string]>([
    [{ runFrom: 'client' }, "runFrom must be 'meta', 'session' or a function, got"],
    [{ idleMs: 0 }, 'idleMs must be'],
    [{ idleMs: '1000' }, 'idleMs must be'],
    [{ maxRuns: 0 }, 'maxRuns must be a whole number of 1 or more, or Infinity, got 0'],
    [{ maxRuns: 1.5 }, 'maxRuns must be'],
    [{ onBlocked: 'throw' }, 'onBlocked must be'],
  ])('%j is none of them', (options, message) => {
    expect(() => settingOf({}, options as GateOptions)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message: expect.stringContaining(message) }),
    );
  });

  it('of a client are checked', () => {
    const { gate } = settingOf({});
    const client = { callTool: async () => ({ content: [] }) };
    expect(() => gate.client(client, { sendRunId: 'yes' as never })).toThrow('sendRunId');
  });
});

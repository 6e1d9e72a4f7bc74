import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createEnforcement } from '../../src/index.ts';
import { inspectTo } from '../../src/inspect/index.ts';
import { snapshot } from '../../src/inspect/snapshot.ts';
import { addressOfNobody, listenUntil, of, startServer, TOKEN } from './support.ts';

const ADDRESS = `http://127.0.0.1:4983/?token=${TOKEN}`;

describe('inspectTo', () => {
  it.each([
    undefined,
    '',
    'nonsense',
    'http://127.0.0.1:4983/',
    'http://127.0.0.1:4983/?token=short',
    `http://example.com/?token=${TOKEN}`,
    `https://127.0.0.1/?token=${TOKEN}`,
    `http://127.0.0.1.example.com/?token=${TOKEN}`,
    7 as never,
  ])('takes no address like %s, and says which it takes', (url) => {
    expect(() => inspectTo(url)).toThrow(
      /must be the address that phasegate inspect prints, as in http:\/\/127/,
    );
  });

  it('tells no token to whoever reads the error', () => {
    const refused = () => inspectTo(new URL(`https://127.0.0.1:4983/?token=${TOKEN}#end`));
    expect(refused).toThrow(/got "https:\/\/127\.0\.0\.1:4983\/\?token=…#end"/);
  });

  it.each([
    [{ maxBuffered: 0 }, 'maxBuffered must be a whole number of 1 or more, got 0'],
    [{ name: '' }, 'name must be a text of 1 to 200 characters, got ""'],
    [{ capture: 1 as never }, 'capture must be true or false, got 1'],
    [{ max: 1 } as never, 'There is no option "max" of inspectTo; there are: name, capture, maxBuffered'],
    [null as never, 'The options of inspectTo must be an object with name, capture, maxBuffered, got null'],
  ])('takes no options like %j', (options, message) => {
    expect(() => inspectTo(ADDRESS, options)).toThrow(message);
  });

  async function argsSeen(capture: boolean) {
    const server = await startServer();
    const enforcement = createEnforcement();
    const observer = inspectTo(new URL(server.url), { capture });
    enforcement.on(observer);
    const fails = enforcement.tool('fails', async (_: unknown) => {
      throw new Error('no connection');
    });
    await enforcement.withRun(() => fails({ password: 'hunter2' }).catch(() => {}));
    await observer.close();
    const all = await listenUntil(server, (all) => all.at(-1)?.name === 'ready', '1');
    const events = of(all, 'events').flatMap(
      ({ events }) => events as { type: string; args?: unknown; error?: string }[],
    );
    return {
      args: events.find(({ type }) => type === 'call.started')?.args,
      error: events.find(({ type }) => type === 'call.ended')?.error,
      problem: observer.problem,
    };
  }

  it('leaves the arguments of calls out, and tells what they failed with', async () => {
    expect(await argsSeen(false)).toEqual({ args: undefined, error: 'no connection', problem: null });
  });

  it('sends them where it is asked to', async () => {
    expect((await argsSeen(true)).args).toEqual({ password: 'hunter2' });
  });

  it.each([false, true])(
    'leaves results out which another observer asked for, with capture: %s',
    async (capture) => {
      const server = await startServer();
      const enforcement = createEnforcement();
      const observer = inspectTo(server.url, { capture });
      const heard: unknown[] = [];
      enforcement.on({ listen: (event) => heard.push(event), results: true });
      enforcement.on(observer);
      await enforcement.withRun((run) => run.callTool('read', {}, () => 'hunter2'));
      await observer.close();
      const told = await listenUntil(server, (all) => all.at(-1)?.name === 'ready', '1');
      expect(JSON.stringify(heard)).toContain('hunter2');
      expect(JSON.stringify(told)).toContain('call.ended');
      expect(JSON.stringify(told)).not.toContain('hunter2');
    },
  );

  it('says why nothing gets through, and takes nothing more when it is closed', async () => {
    const enforcement = createEnforcement();
    const observer = inspectTo(await addressOfNobody(), { maxBuffered: 1 });
    enforcement.on(observer);
    enforcement.beginRun().finish();
    await observer.flush();
    expect(observer.problem).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ingest cannot be reached: .*ECONNREFUSED/);
    const { dropped } = observer;
    expect(dropped).toBe(2);
    await observer.close();
    enforcement.beginRun().finish();
    expect(observer.dropped).toBe(dropped);
  });
});

describe('a server that does not take what it is sent', { timeout: 30_000 }, () => {
  async function warningOf(act: () => Promise<void>): Promise<string> {
    const warned = once(process, 'warning');
    await act();
    const [warning] = await warned;
    return `${warning.name}: ${warning.message}`;
  }

  it('has the events sent again when it is back', async () => {
    const { port, close } = await startServer();
    await close();
    const enforcement = createEnforcement();
    const observer = inspectTo(`http://127.0.0.1:${port}/?token=${TOKEN}`);
    enforcement.on(observer);
    enforcement.beginRun({ id: 'patient' }).finish();
    await observer.flush();
    expect(observer.problem).toMatch(/cannot be reached/);
    const { store } = await startServer({ port });
    await vi.waitFor(() => expect(store.runs.size).toBe(1), 20_000);
    // The answer comes after the server has taken them.
    await vi.waitFor(() => expect(observer).toMatchObject({ problem: null, dropped: 0 }));
    await observer.close();
  });

  it('for good has them dropped, once it has said why', async () => {
    const { url, store } = await startServer();
    const enforcement = createEnforcement();
    const observer = inspectTo(url);
    enforcement.on(observer);
    const run = enforcement.beginRun({ id: 'large' });
    await observer.flush();
    await run.callTool('x'.repeat(9 * 2 ** 20), {}, () => 1);
    const warning = await warningOf(() => observer.flush());
    expect(warning).toMatch(
      /^PhasegateWarning: phasegate inspect refuses the events: A batch may have 8388608 bytes$/,
    );
    run.finish();
    await observer.close();
    expect(observer.dropped).toBe(2);
    expect(store.runs.get('1')?.summary()).toMatchObject({ run: 'large', live: false });
  });

  it('for its token keeps them, and says so once', async () => {
    const { port } = await startServer();
    const enforcement = createEnforcement();
    const observer = inspectTo(`http://127.0.0.1:${port}/?token=${'x'.repeat(32)}`);
    enforcement.on(observer);
    enforcement.beginRun().finish();
    const warning = await warningOf(() => observer.flush());
    expect(warning).toMatch(
      /^PhasegateWarning: phasegate inspect refuses the events: The token is another one/,
    );
    expect(observer).toMatchObject({ dropped: 0, problem: warning.replace('PhasegateWarning: ', '') });
    await observer.close();
  });

  it('because it is another program is one that cannot be reached', async () => {
    const other = createServer((_, response) => response.end('<html>')).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const observer = inspectTo(`http://localhost:${port}/?token=${TOKEN}`);
    const enforcement = createEnforcement();
    enforcement.on(observer);
    enforcement.beginRun().finish();
    await observer.close();
    expect(observer.problem).toMatch(/cannot be reached: .*JSON/);
  });
});

describe('a copy of arguments', () => {
  it('holds what JSON holds', () => {
    const value = { text: 'a', count: 1, yes: true, none: null, list: [1, 'b', { deep: [] }] };
    expect(snapshot(value)).toEqual(value);
  });

  it('names what JSON does not hold', () => {
    expect(
      snapshot([1n, Number.NaN, undefined, () => {}, Symbol('s'), new Uint8Array(3), new Map()]),
    ).toEqual([...['1n', 'NaN', '[undefined]', '[function]', '[symbol]', '[3 bytes]', {}]]);
  });

  it('runs no code of the value, and does not change what comes of it', () => {
    let ran = false;
    const hostile = {
      get secret() {
        ran = true;
        return 1;
      },
      toJSON() {
        ran = true;
      },
    };
    expect(snapshot(hostile)).toEqual({ secret: '[getter]', toJSON: '[function]' });
    expect(ran).toBe(false);
    expect(snapshot(JSON.parse('{"__proto__":{"polluted":1}}'))).not.toHaveProperty('polluted');
    const throws = () => {
      throw new Error('no');
    };
    expect(snapshot(new Proxy({}, { ownKeys: throws, get: throws }))).toBe('[unreadable]');
  });

  it('is small, whatever comes', () => {
    const text = 'x'.repeat(5_000);
    const cycle: Record<string, unknown> = { list: Array.from({ length: 1_000_000 }, () => text) };
    cycle['self'] = cycle;
    for (let key = 0; key < 10_000; key++) cycle[`key ${key}`] = { key };
    expect(JSON.stringify(snapshot(cycle)).length).toBeLessThan(30_000);
    expect(JSON.stringify(snapshot([cycle, cycle])).length).toBeLessThan(30_000);
  });
});

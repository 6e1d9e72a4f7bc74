import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ask, eventsOfRun, send, startServer, TOKEN } from './support.ts';

describe('who may ask', () => {
  it('answers requests to this machine by its name and port', async () => {
    const server = await startServer();
    for (const name of ['127.0.0.1', 'localhost', 'LOCALHOST', '[::1]']) {
      const answer = await ask(server, '/', { headers: { host: `${name}:${server.port}` } });
      expect(answer.status).toBe(200);
    }
  });

  it.each(['evil.example', 'evil.example:PORT', '127.0.0.1', '127.0.0.1:1', '127.0.0.1.nip.io:PORT'])(
    'refuses one that is made out to %j, as DNS rebinding does',
    async (host) => {
      const server = await startServer();
      const headers = { host: host.replace('PORT', String(server.port)) };
      for (const path of ['/', `/stream?token=${TOKEN}`, `/ingest?token=${TOKEN}`]) {
        expect(await ask(server, path, { headers })).toMatchObject({ status: 403, code: 'wrong-host' });
      }
    },
  );

  it.each(['http://evil.example', 'https://127.0.0.1:PORT', 'http://127.0.0.1:1', 'null', ''])(
    'refuses what a page of %j asks',
    async (origin) => {
      const server = await startServer();
      const headers = { origin: origin.replace('PORT', String(server.port)) };
      const answer = await ask(server, `/ingest?token=${TOKEN}`, { method: 'POST', headers });
      expect(answer).toMatchObject({ status: 403, code: 'wrong-origin' });
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    },
  );

  it('takes what its own page asks', async () => {
    const server = await startServer();
    const headers = { origin: `http://127.0.0.1:${server.port}` };
    expect((await ask(server, '/', { headers })).status).toBe(200);
  });

  it.each([
    ['no-token', ''],
    ['wrong-token', '?token='],
    ['wrong-token', '?token=x'],
    ['wrong-token', `?token=${TOKEN}x`],
    ['wrong-token', `?token=${TOKEN.toLowerCase()}`],
  ])('gives no data with %s: %j', async (code, query) => {
    const server = await startServer();
    await send(server, {}, eventsOfRun('secret'));
    for (const path of ['/stream', '/api/chart']) {
      const answer = await ask(server, `${path}${query}`);
      expect(answer).toMatchObject({ status: 401, code });
      expect(answer.text).not.toContain('secret');
    }
    expect(await ask(server, `/ingest${query}`, { method: 'POST' })).toMatchObject({ status: 401, code });
    expect(server.store.runs.size).toBe(1);
  });

  it('takes the token as a bearer too, and then looks at no other', async () => {
    const server = await startServer();
    const chart = (path: string, token: string) =>
      ask(server, path, { headers: { authorization: `Bearer ${token}` } });
    expect((await chart('/api/chart?run=1', TOKEN)).code).toBe('unknown-run');
    expect((await chart(`/api/chart?run=1&token=${TOKEN}`, 'x')).code).toBe('wrong-token');
  });

  it('listens on the loopback interface only', async () => {
    const server = await startServer();
    const there = createServer();
    onTestFinished(() => void there.close());
    // Were it to listen on all interfaces, this address would be taken.
    await new Promise((resolve, reject) => {
      there.once('error', reject).listen(server.port, '127.0.0.2', () => resolve(undefined));
    });
    expect((there.address() as AddressInfo).port).toBe(server.port);
  });
});

describe('what every answer says', () => {
  const POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

  it.each(['/', '/nowhere', '/api/chart', '/ingest', '//'])('%s', async (path) => {
    const server = await startServer();
    const { headers } = await ask(server, path);
    expect(headers).toMatchObject({
      'content-security-policy': POLICY,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
  });
});

describe('what is asked for wrongly', () => {
  it.each(['/../package.json', '/..%2f..%2fpackage.json', '/page.js/', '/%00', '/__proto__', '/constructor'])(
    'has nothing at %s',
    async (path) => {
      expect(await ask(await startServer(), path)).toMatchObject({ status: 404, code: 'not-found' });
    },
  );

  it('takes no address for one that is none', async () => {
    const server = await startServer();
    expect(await ask(server, 'http://[/')).toMatchObject({ status: 400, code: 'malformed' });
  });

  it.each([
    ['/', 'POST', 'GET, HEAD'],
    ['/stream', 'POST', 'GET'],
    ['/api/chart', 'DELETE', 'GET'],
    ['/ingest', 'GET', 'POST'],
    ['/ingest', 'OPTIONS', 'POST'],
  ])('says which methods %s has, and not %s', async (path, method, allowed) => {
    const answer = await ask(await startServer(), `${path}?token=${TOKEN}`, { method });
    expect(answer).toMatchObject({ status: 405, code: 'wrong-method' });
    expect(answer.headers.allow).toBe(allowed);
  });

  it('has no chart of a run that it does not know, or in a direction that there is not', async () => {
    const server = await startServer();
    await send(server, {}, eventsOfRun('r'));
    const chart = (query: string) => ask(server, `/api/chart?token=${TOKEN}&${query}`);
    expect(await chart('run=7')).toMatchObject({ status: 404, code: 'unknown-run' });
    expect(await chart('run=1&direction=up')).toMatchObject({ status: 400, code: 'malformed' });
    expect(JSON.parse((await chart('run=1&direction=down')).text).states).toHaveLength(7);
  });

  it('has no chart of a table that is none, and says why', async () => {
    const server = await startServer();
    await send(server, {}, eventsOfRun('r', { transitions: { '<b>': ['IDLE'] } }));
    const answer = await ask(server, `/api/chart?token=${TOKEN}&run=1`);
    expect(answer).toMatchObject({ status: 422, code: 'invalid-phase' });
  });

  it('has no chart of a table of a thousand phases, and not that of another table in its place', async () => {
    const server = await startServer();
    const phases = Array.from({ length: 1_000 }, (_, number) => [
      `A_LONG_NAME_OF_PHASE_${number}`,
      ['PLANNING'],
    ]);
    const transitions = Object.fromEntries(phases);
    await send(server, {}, [{ type: 'run.started', run: 'r', transitions }]);
    expect((await ask(server, `/api/chart?run=1&token=${TOKEN}`)).code).toBe('table-too-large');
  });

  it('refuses a port that is taken, and says what to do', async () => {
    const { port } = await startServer();
    await expect(startServer({ port })).rejects.toMatchObject({
      code: 'port-in-use',
      message: `Port ${port} is used by another program. Choose another: --port 0 takes any that is free`,
    });
  });
});

describe('batches', () => {
  it('are taken once, however often they come', async () => {
    const server = await startServer();
    const [first, second, ...rest] = eventsOfRun('r');
    expect((await send(server, {}, [first, second])).text).toBe('{"next":2}');
    await send(server, {}, [first, second]);
    expect((await send(server, { first: 1 }, [second, ...rest])).text).toBe('{"next":4}');
    expect([...server.store.runs.values()].map((run) => run.summary())).toMatchObject([
      { run: 'r', source: 'agent', events: 4, calls: 1, stepCount: 1, live: false },
    ]);
    expect(server.store.dropped.lost).toEqual([]);
  });

  it('with a gap between them are taken, and what is missing is counted', async () => {
    const server = await startServer();
    const [first, second, ...rest] = eventsOfRun('r');
    await send(server, { first: 3 }, [first]);
    await send(server, { first: 9 }, [second, ...rest]);
    expect(server.store.dropped.lost).toEqual([{ source: 'agent', events: 8 }]);
    expect(server.store.runs.size).toBe(1);
  });

  it('of two senders are told apart, whatever their runs are called', async () => {
    const server = await startServer();
    await send(server, { source: 'a', name: 'one' }, eventsOfRun('r'));
    await send(server, { source: 'b', name: 'two' }, eventsOfRun('r'));
    expect([...server.store.runs.values()].map((run) => run.summary().source)).toEqual(['one', 'two']);
  });

  it.each([
    ['Line 1 is no JSON', 'nonsense'],
    ['"version": 1', ''],
    ['"version": 1', '{"version":2,"source":"a","name":"a","first":0}'],
    ['"version": 1', 'null'],
    ['"source" must be', '{"version":1,"source":"","name":"a","first":0}'],
    ['"name" must be', `{"version":1,"source":"a","name":"${'x'.repeat(201)}","first":0}`],
    ['"first" must be', '{"version":1,"source":"a","name":"a","first":-1}'],
    ['"first" must be', '{"version":1,"source":"a","name":"a","first":0.5}'],
    ['Line 2 is no JSON', '{"version":1,"source":"a","name":"a","first":0}\n{"type":"run.st'],
    ['Line 2 is no event', '{"version":1,"source":"a","name":"a","first":0}\n[1]'],
    [
      'Line 3 is no event',
      '{"version":1,"source":"a","name":"a","first":0}\n{"type":"x","run":"r"}\n{"run":"r"}',
    ],
    ['UTF-8', new Uint8Array([0xc3, 0x28])],
  ])('are taken whole or not at all: %s', async (message, body) => {
    const server = await startServer();
    const answer = await ask(server, `/ingest?token=${TOKEN}`, { method: 'POST', body });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(message.replaceAll('"', '\\"'));
    expect(answer.text).not.toContain('\n');
    expect(server.store.runs.size).toBe(0);
  });

  it('have a limit', async () => {
    const server = await startServer();
    const body = new Uint8Array(8 * 2 ** 20 + 1);
    const answer = await ask(server, `/ingest?token=${TOKEN}`, { method: 'POST', body });
    expect(answer).toMatchObject({ status: 413, code: 'too-large' });
    expect((await send(server, {}, eventsOfRun('r'))).status).toBe(200);
  });

  it('may come from any number of senders: those that are silent for longest are forgotten', async () => {
    const server = await startServer();
    const [first, second] = eventsOfRun('r');
    await send(server, { source: 'silent' }, [first]);
    await send(server, { source: 'heard' }, [first]);
    for (let i = 0; i < 999; i++) await send(server, { source: `s${i}` }, []);
    await send(server, { source: 'heard', first: 1 }, [second]);
    expect(server.store.dropped.lost).toEqual([]);
    await send(server, { source: 'silent', first: 1 }, [second]);
    expect(server.store.dropped.lost).toEqual([{ source: 'agent', events: 1 }]);
    expect(server.store.runs.size).toBe(3);
  });

  it('of hostile names are data like any other', async () => {
    const server = await startServer();
    const event =
      '{"type":"call.started","run":"__proto__","tool":"constructor","args":{"__proto__":{"polluted":1}}}';
    const head = '{"version":1,"source":"__proto__","name":"<img onerror=alert(1)>","first":0}';
    const answer = await ask(server, `/ingest?token=${TOKEN}`, { method: 'POST', body: `${head}\n${event}` });
    expect(answer.status).toBe(200);
    expect(server.store.runs.get('1')?.summary()).toMatchObject({
      run: '__proto__',
      lastTool: 'constructor',
    });
    expect({}).not.toHaveProperty('polluted');
  });
});

describe('those that take their time', { timeout: 60_000 }, () => {
  it('are cut off, whether a head drips, a body, or nothing comes, and others are answered meanwhile', async () => {
    const server = await startServer();
    const body = `POST /ingest?token=${TOKEN} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nContent-Length: 1000\r\n\r\n`;
    const closed = ['GET / HTTP/1.1\r\nX-Slow: ', body, ''].map((beginning) => {
      const socket = connect(server.port, '127.0.0.1').on('error', () => {});
      onTestFinished(() => void socket.destroy());
      socket.write(beginning);
      const drip = beginning === '' ? undefined : setInterval(() => socket.write('x'), 100);
      onTestFinished(() => clearInterval(drip));
      return once(socket.resume(), 'close');
    });
    expect((await ask(server, '/')).status).toBe(200);
    await Promise.all(closed);
  });

  it('take bounded memory together with their bodies', async () => {
    const server = await startServer();
    const path = `/ingest?token=${TOKEN}`;
    const body = Buffer.alloc(8 * 2 ** 20 - 1, ' ');
    const slow = Array.from({ length: 8 }, () => {
      const headers = { 'Content-Length': 8 * 2 ** 20 };
      const sender = request({ host: '127.0.0.1', port: server.port, path, method: 'POST', headers });
      sender.on('error', () => {});
      sender.write(body);
      onTestFinished(() => void sender.destroy());
      return sender;
    });
    await vi.waitFor(async () => {
      expect(await ask(server, path, { method: 'POST', body })).toMatchObject({
        status: 503,
        code: 'too-busy',
      });
    }, 20_000);
    for (const sender of slow) sender.destroy();
    await vi.waitFor(async () => expect((await send(server, {}, eventsOfRun('r'))).status).toBe(200), 20_000);
  });
});

import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { RunModel } from '../../src/inspect/run-model.ts';
import { RunStore } from '../../src/inspect/store.ts';
import type { TidyEvent } from '../../src/inspect/tidy-event.ts';
import { ask, eventsOfRun, listen, listenUntil, of, send, startServer, TOKEN, type Told } from './support.ts';

const ready = (all: readonly Told[]) => all.at(-1)?.name === 'ready';

describe('a page that connects', () => {
  it('is told who serves it, all runs there are, and that these are all', async () => {
    const server = await startServer({ title: 'runs.jsonl', live: false });
    await send(server, {}, [...eventsOfRun('one'), ...eventsOfRun('two')]);
    const all = await listenUntil(server, ready);
    expect(all[0]).toMatchObject({ name: 'hello', data: { version: 1, title: 'runs.jsonl', live: false } });
    expect(of(all, 'runs').flat()).toMatchObject([
      { key: '1', run: 'one', live: false, phase: 'ANSWERING', stepCount: 1, maxSteps: 5 },
      { key: '2', run: 'two' },
    ]);
    expect(of(all, 'ready')).toEqual([{ runs: 2 }]);
  });

  it('gets ten thousand runs in parts', async () => {
    const store = new RunStore(2 ** 28);
    const source = store.addSource('many');
    for (let i = 0; i < 10_000; i++) {
      for (const event of eventsOfRun(`run ${i}`)) store.take(source, event as TidyEvent);
    }
    const all = await listenUntil(await startServer({ store }), ready);
    expect(of(all, 'runs').map(({ length }) => length)).toEqual(Array(10).fill(1_000));
    expect(new Set(of(all, 'runs').flatMap((runs) => runs.map(({ key }) => key))).size).toBe(10_000);
  });

  it('is told what changes from then on', async () => {
    const server = await startServer();
    const told: Told[] = [];
    for await (const one of listen(server)) {
      told.push(one);
      if (one.name === 'ready') await send(server, {}, eventsOfRun('late').slice(0, 2));
      if (one.name === 'runs') break;
    }
    expect(of(told, 'runs')[0]).toMatchObject([{ run: 'late', live: true, inFlight: 1, phase: 'ACTING' }]);
  });

  it('is told of what got lost, and of what was let go', async () => {
    const server = await startServer({ store: new RunStore(10_000) });
    await send(server, { first: 5 }, eventsOfRun('old'));
    const told: Told[] = [];
    for await (const one of listen(server)) {
      told.push(one);
      if (one.name === 'ready') await send(server, { source: 'b' }, manyCalls('new', 40));
      if (one.name === 'gone') break;
    }
    expect(of(told, 'dropped').at(-1)).toMatchObject({
      lost: [{ source: 'agent', events: 5 }],
      runsLetGo: 1,
    });
    expect(of(told, 'gone')).toEqual([['1']]);
  });
});

function manyCalls(run: string, calls: number): object[] {
  const events = Array.from({ length: calls }, (_, index) => {
    const call = { run, time: index, call: `c${index}`, seq: index + 1, tool: 'search' };
    return [
      { ...call, type: 'call.started', parent: null },
      { ...call, type: 'call.ended', ok: true, late: false },
    ];
  });
  return [{ type: 'run.started', run, time: 0, parent: null, call: null }, ...events.flat()];
}

describe('a page that watches a run', () => {
  const family = () => [
    ...eventsOfRun('parent').slice(0, 2),
    { type: 'run.started', run: 'child', time: 2, parent: 'parent', call: 'c', budget: 'shared' },
    { type: 'call.started', run: 'child', time: 2, call: 'x', seq: 1, tool: 'fetch', parent: null },
    { type: 'call.ended', run: 'child', time: 2, call: 'x', seq: 1, tool: 'fetch', ok: true, late: false },
    ...eventsOfRun('parent').slice(2, 3),
  ];

  function modelOf(all: readonly Told[]): RunModel {
    const model = new RunModel();
    for (const { from, events } of of(all, 'events')) {
      expect(from).toBe(model.length);
      model.append(events);
    }
    return model;
  }

  it('gets its events, and those of its child runs, with the keys of both', async () => {
    const server = await startServer();
    await send(server, {}, [...eventsOfRun('other'), ...family()]);
    const { runs, length } = modelOf(await listenUntil(server, ready, '2'));
    expect(length).toBe(6);
    expect(runs.map(({ key, id, now }) => [key, id, now.stepCount])).toEqual([
      ['2', 'parent', 2],
      ['3', 'child', 1],
    ]);
    const summary = server.store.runs.get('2')?.summary();
    expect(summary).toMatchObject({ events: 6, stepCount: 2, inFlight: 0 });
  });

  it('gets those of a child run alone where it watches that', async () => {
    const server = await startServer();
    await send(server, {}, family());
    expect(modelOf(await listenUntil(server, ready, '2')).runs.map(({ id }) => id)).toEqual(['child']);
  });

  it('gets the rest as it comes', async () => {
    const server = await startServer();
    const events = family();
    await send(server, {}, events.slice(0, 4));
    const told: Told[] = [];
    for await (const one of listen(server, '1')) {
      told.push(one);
      if (one.name === 'ready') await send(server, { first: 4 }, events.slice(4));
      if (modelOf(told).length === events.length) break;
    }
    expect(modelOf(told).root?.now).toMatchObject({ stepCount: 2, inFlight: 0 });
  });

  it('of five thousand calls gets them in parts', async () => {
    const store = new RunStore(2 ** 28);
    const source = store.addSource('one');
    for (const event of manyCalls('long', 5_000)) store.take(source, event as TidyEvent);
    const all = await listenUntil(await startServer({ store }), ready, '1');
    const model = modelOf(all);
    expect(model.length).toBe(10_001);
    expect(model.root?.now.stepCount).toBe(5_000);
    expect(of(all, 'events').length).toBeGreaterThan(10);
  });

  it('is told nothing that a sender has put between the values of its JSON', async () => {
    const server = await startServer();
    const [started, call] = eventsOfRun('r').map((event) => JSON.stringify(event));
    // What is JSON with a carriage return in it would end the line of the stream.
    const forged = call?.replace('{', '{\r\r');
    const body = `{"version":1,"source":"a","name":"a","first":0}\n${started}\n${forged}\n`;
    await ask(server, `/ingest?token=${TOKEN}`, { method: 'POST', body });
    const address = server.url.replace('/?', '/stream?run=1&');
    const response = await fetch(address);
    let text = '';
    for await (const piece of response.body ?? []) {
      text += Buffer.from(piece);
      if (text.includes('event: ready')) break;
    }
    expect(text).toContain('"call":"c"');
    expect(text).not.toContain('\r');
  });

  it('is told that there is no such run, and goes on', async () => {
    const all = await listenUntil(await startServer(), (all) => all.at(-1)?.name === 'unknown', '9');
    expect(of(all, 'unknown')).toEqual([{ run: '9' }]);
  });
});

describe('a page that does not read', () => {
  it('holds nothing up, and is told of what changed once when it reads on', async () => {
    const server = await startServer();
    const { pathname, search } = new URL(server.url);
    const socket = connect(server.port, '127.0.0.1').pause();
    socket.write(`GET ${pathname}stream${search} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
    for (let batch = 0; batch < 20; batch++) {
      const events = Array.from({ length: 200 }, (_, i) => eventsOfRun(`run ${i} ${'x'.repeat(400)}`)).flat();
      await send(server, { first: batch * events.length }, events);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(server.store.runs.size).toBe(4_000);
    // Another page is none the slower for it.
    expect(of(await listenUntil(server, ready), 'ready')).toEqual([{ runs: 4_000 }]);
    let text = '';
    for await (const chunk of socket.resume()) {
      text += chunk;
      if (new Set(text.match(/"key":"\d+"/g)).size === 4_000) break;
    }
    socket.destroy();
    expect(text).toContain('event: ready');
  });

  it('while very many runs are let go is cut off, so that what it was not told takes no memory', async () => {
    const store = new RunStore(2 ** 20);
    const server = await startServer({ store });
    const { pathname, search } = new URL(server.url);
    const socket = connect(server.port, '127.0.0.1');
    socket.write(`GET ${pathname}stream${search} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n\r\n`);
    await once(socket, 'data');
    socket.pause();
    const source = store.addSource('busy');
    for (let i = 0; i < 101_000; i++) store.take(source, { type: 'run.started', run: `${i}` });
    await once(socket.resume(), 'close');
    expect(of(await listenUntil(server, ready), 'ready')).toEqual([{ runs: store.runs.size }]);
  });
});

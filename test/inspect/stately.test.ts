import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  createWebSocketInspector,
  createWebSocketReceiver,
  type StatelyActorEvent,
  type StatelyInspectionEvent,
} from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { build } from 'esbuild';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  type Call,
  type CallRefused,
  type CallStarted,
  createEnforcement,
  createSupervisor,
  type Enforcement,
  type PhaseActor,
  type PhasegateEvent,
} from '../../src/index.ts';
import { MirroredRuns, mirrorToStately } from '../../src/inspect/stately.ts';
import { freePort } from '../free-port.ts';

type PhaseSnapshot = ReturnType<PhaseActor['getSnapshot']>;

const ROOT = new URL('../../', import.meta.url).pathname;

let url: string;
let received: StatelyInspectionEvent[];

/** The relay that Stately's package brings, and its receiver in the place of a page or an editor. */
async function listen(): Promise<void> {
  const port = await freePort();
  url = `ws://localhost:${port}`;
  const server = createInspectorServer({ port, autoOpen: false });
  onTestFinished(() => server.stop());
  received = [];
  createWebSocketReceiver({ server: url }).subscribe((event) => received.push(event));
}

/** What the receiver was told, by the names of the actors: which begin, which events they take, where that leads. */
function story(): string[] {
  const actors = received.filter((event): event is StatelyActorEvent => event.type === '@xstate.actor');
  const nameOf = (id: string | undefined) => actors.find(({ sessionId }) => sessionId === id)?.name;
  return received.flatMap((event) => {
    const name = nameOf(event.sessionId);
    if (event.type === '@xstate.actor') {
      return `${name} begins${event.parentId === undefined ? '' : ` under ${nameOf(event.parentId)}`}`;
    }
    if (event.type === '@xstate.event')
      return event.event.type.startsWith('xstate.') ? [] : `${name} < ${event.event.type}`;
    const { value, context } = event.snapshot as unknown as { value: string; context: { stepCount: number } };
    return `${name} = ${value} ${context.stepCount}`;
  });
}

const hops = () => story().filter((line) => !line.includes(' = '));

/** A run that searches, and hands a part to a child run. */
async function agents(enforcement: Enforcement): Promise<void> {
  await enforcement.withRun(
    async (run) => {
      await run.callTool('search', { q: 'secret' }, () => 'a secret page');
      await run.callTool('delegate', {}, (call) =>
        enforcement.withRun((child) => child.callTool('fetch', {}, () => 2), { id: 'child', parent: call }),
      );
    },
    { id: 'root' },
  );
}

describe('createWebSocketInspector().inspect', () => {
  beforeEach(listen);

  test('given to an enforcement, shows Stately’s receiver each hop of a run in order, and where it led', async () => {
    const inspector = createWebSocketInspector({ url });
    const enforcement = createEnforcement({ inspect: inspector.inspect });
    await enforcement.withRun((run) => run.callTool('search', {}, () => 1), { id: 'root' });
    await vi.waitFor(() => expect(story()).toContain('root = ANSWERING 1'), { timeout: 10_000 });
    inspector.stop();
    expect(story()).toEqual([
      'root begins',
      'root = IDLE 0',
      'root < propose.PLANNING',
      'root = PLANNING 0',
      'root < call.start',
      'root = ACTING 0',
      'root < call.succeed',
      'root = OBSERVING 1',
      'root < run.finish',
      'root = ANSWERING 1',
    ]);
    const [begin] = received as [StatelyActorEvent];
    expect(Object.keys(JSON.parse(begin.definition ?? '{}').states)).toHaveLength(7);
  });

  test('shows child runs under their parents', async () => {
    const inspector = createWebSocketInspector({ url });
    await agents(createEnforcement({ inspect: inspector.inspect }));
    await vi.waitFor(() => expect(story()).toContain('root = ANSWERING 3'), { timeout: 10_000 });
    inspector.stop();
    expect(hops().slice(4, 11)).toEqual([
      'root < propose.PLANNING',
      'root < call.start',
      'child begins under root',
      'child < propose.PLANNING',
      'child < call.start',
      'root < child.succeed',
      'child < call.succeed',
    ]);
  });

  test('attached to a live run, shows where it is, and what becomes of it', async () => {
    const run = createEnforcement().beginRun({ id: 'root' });
    await run.callTool('search', {}, () => 1);
    const inspector = createWebSocketInspector({ url });
    run.inspect(inspector.inspect);
    run.finish();
    await vi.waitFor(() => expect(story()).toContain('root = ANSWERING 1'), { timeout: 10_000 });
    inspector.stop();
    expect(story()).toEqual(['root begins', 'root = OBSERVING 1', 'root < run.finish', 'root = ANSWERING 1']);
  });
});

describe('mirrorToStately', () => {
  beforeEach(listen);

  /** What the agents' enforcement tells, as another process is told of it. */
  async function eventsOf(options: Parameters<typeof createSupervisor>[0] = {}): Promise<PhasegateEvent[]> {
    const enforcement = createEnforcement({ supervisor: createSupervisor(options) });
    const events: PhasegateEvent[] = [];
    enforcement.on({ listen: (event) => events.push(JSON.parse(JSON.stringify(event))), results: true });
    await agents(enforcement).catch(() => {});
    return events;
  }

  async function mirror(events: readonly PhasegateEvent[]): Promise<void> {
    const stately = await mirrorToStately({ url });
    for (const event of events) stately.take(event);
    await stately.close();
    const phases = () => story().filter((line) => line.startsWith('root = ANSWERING'));
    await vi.waitFor(() => expect(phases()).toHaveLength(1), { timeout: 10_000 });
  }

  test('shows the runs of another process as their events tell of them', async () => {
    await mirror(await eventsOf());
    expect(story()).toEqual([
      'root begins',
      'root = IDLE 0',
      'root < phase.entered',
      'root = PLANNING 0',
      'root < phase.entered',
      'root = ACTING 0',
      'root < call.started',
      'root = ACTING 0',
      'root < phase.entered',
      'root = OBSERVING 0',
      'root < call.ended',
      'root = OBSERVING 1',
      'root < phase.entered',
      'root = PLANNING 1',
      'root < phase.entered',
      'root = ACTING 1',
      'root < call.started',
      'root = ACTING 1',
      'child begins under root',
      'child = IDLE 0',
      'child < phase.entered',
      'child = PLANNING 0',
      'child < phase.entered',
      'child = ACTING 0',
      'child < call.started',
      'child = ACTING 0',
      'child < phase.entered',
      'child = OBSERVING 0',
      'root < child.succeed',
      'root = ACTING 2',
      'child < call.ended',
      'child = OBSERVING 1',
      'child < run.ended',
      'root = ACTING 2',
      'child = ANSWERING 1',
      'root < phase.entered',
      'root = OBSERVING 2',
      'root < call.ended',
      'root = OBSERVING 3',
      'root < run.ended',
      'root = ANSWERING 3',
    ]);
  });

  test('with their budgets and their table, and without what calls are made with and come to', async () => {
    const options = {
      maxSteps: 2,
      phases: ['REVIEWING'],
      transitions: [...createSupervisor().transitions, ['OBSERVING', 'REVIEWING']],
    } as const;
    await mirror(await eventsOf(options));
    const begin = received.find((event): event is StatelyActorEvent => event.type === '@xstate.actor');
    const { states } = JSON.parse(begin?.definition ?? '{}') as { states: Record<string, { on: object }> };
    expect(Object.keys(states['OBSERVING']?.on ?? {})).toContain('propose.REVIEWING');
    expect(begin?.snapshot.context).toMatchObject({ maxSteps: 2 });
    const refused = received.find(
      (event) => event.type === '@xstate.event' && event.event.type === 'call.refused',
    );
    expect(refused).toMatchObject({ event: { tool: 'fetch', code: 'step-budget' } });
    expect(JSON.stringify(received)).not.toContain('secret');
  });

  test('shows what it can of a stream that begins in the middle, and of nonsense', async () => {
    const events = await eventsOf();
    const broken = [
      { type: 'phase.entered', run: 'other', from: 'IDLE', phase: '__proto__' },
      { type: 'phase.entered', run: 'other', from: 'IDLE', phase: 'NOWHERE' },
      { type: 'xstate.stop', run: 'root' },
      { type: 'run.started', run: 'odd', parent: 'none', transitions: { X: 'nowhere' }, maxSteps: 'many' },
      { type: 'call.refused', run: null, code: 'no-active-run' },
      { type: 'run.started', run: 'strange', parent: null, transitions: null, resumed: { calls: [] } },
    ] as unknown as PhasegateEvent[];
    await mirror([...events.slice(2, 6), ...broken, ...events.slice(6)]);
    expect(hops().filter((line) => line.includes('begins'))).toEqual([
      'root begins',
      'other begins',
      'odd begins',
      'strange begins',
      'child begins under root',
    ]);
    expect(story().at(-1)).toBe('root = ANSWERING 3');
  });
});

test('a call that one observer was told has started, and that was refused for another, is in flight no more', () => {
  const inFlight: unknown[] = [];
  const runs = new MirroredRuns((event) => {
    if (event.type === '@xstate.snapshot') inFlight.push((event.snapshot as PhaseSnapshot).context.inFlight);
  });
  const call = { run: 'r', call: '1', seq: 1, tool: 'search', stepCount: 0, loopCount: 0 };
  runs.take({ ...call, type: 'call.started' } as CallStarted);
  runs.take({ ...call, type: 'call.refused', code: 'observer-failed' } as CallRefused);
  expect(inFlight).toEqual([0, 1, 0]);
});

test('a run that was resumed goes on where it was', () => {
  const seen: unknown[] = [];
  const runs = new MirroredRuns((event) => {
    if (event.type !== '@xstate.snapshot') return;
    const { value, context } = event.snapshot as PhaseSnapshot;
    seen.push([value, context.stepCount, context.inFlight]);
  });
  const run = createEnforcement().beginRun({ id: 'r' });
  for (let i = 0; i < 2; i++) run.afterCall(run.admit('search') as Call);
  const call = run.admit('research') as Call;
  run.admit('search', {}, { parent: call });
  const enforcement = createEnforcement();
  enforcement.on((event) => runs.take(event));

  enforcement.resumeRun(run.save());

  expect(seen).toEqual([
    ['ACTING', 2, 2],
    ['ACTING', 3, 1],
    ['OBSERVING', 3, 1],
    ['OBSERVING', 4, 0],
  ]);
  run.abort('enough');
  seen.length = 0;
  enforcement.resumeRun(run.save());
  expect(seen).toEqual([['ANSWERING', 2, 2]]);
});

describe('mirrorToStately without a tool of Stately’s', () => {
  test('says that nothing listens, and that what does is no WebSocket server', async () => {
    await expect(mirrorToStately({ url: `ws://localhost:${await freePort()}` })).rejects.toMatchObject({
      code: 'stately-unreachable',
      message: expect.stringMatching(
        /^No WebSocket server answers at ws:\/\/localhost:\d+\/ \(ECONNREFUSED\)/,
      ),
    });
    const page: Server = createServer((_, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
    await once(page, 'listening');
    const { port } = page.address() as AddressInfo;
    await expect(mirrorToStately({ url: `ws://127.0.0.1:${port}` })).rejects.toMatchObject({
      code: 'stately-unreachable',
      message: expect.stringContaining('(it answers with HTTP 404)'),
    });
    page.close();
  });

  test.each(['localhost:8080', 'http://localhost:8080', '', 8080, null])(
    'refuses %j as an address',
    async (url) => {
      await expect(mirrorToStately({ url: url as never })).rejects.toMatchObject({
        code: 'invalid-argument',
      });
    },
  );

  test('says what to install where @statelyai/inspect is not', { timeout: 60_000 }, async () => {
    const output = await run(
      'mirrorToStately().catch(({ code, message }) => console.log(JSON.stringify({ code, message })));',
    );
    expect(JSON.parse(output)).toEqual({
      code: 'missing-dependency',
      message: expect.stringContaining('npm install @statelyai/inspect'),
    });
  });
});

test('a process that mirrors more than fits into a buffer sends all of it, and ends', {
  timeout: 60_000,
}, async () => {
  await listen();
  const calls = 300;
  const output = await run(
    `
    const mirror = await mirrorToStately({ url: ${JSON.stringify(url)} });
    mirror.take({ type: 'run.started', run: 'root', parent: null, budget: 'shared', maxSteps: null, maxLoopsPerPhase: 3, transitions: null });
    for (let seq = 1; seq <= ${calls}; seq++) {
      mirror.take({ type: 'call.started', run: 'root', call: '1', seq, tool: 'search', stepCount: seq - 1, loopCount: 0 });
      mirror.take({ type: 'call.ended', run: 'root', call: '1', seq, tool: 'search', ok: true, stepCount: seq });
    }
    await mirror.close();
    console.log('closed');`,
    join(ROOT, 'node_modules'),
  );
  expect(output).toBe('closed\n');
  await vi.waitFor(() => expect(story()).toContain(`root = ACTING ${calls}`), { timeout: 10_000 });
  expect(hops().filter((line) => line.endsWith('call.ended'))).toHaveLength(calls);
});

/** What a program prints by its end that uses the mirror, and the packages of that folder. */
async function run(contents: string, packages?: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-stately-'));
  if (packages !== undefined) symlinkSync(packages, join(folder, 'node_modules'));
  const outfile = join(folder, 'program.mjs');
  await build({
    stdin: {
      contents: `import { mirrorToStately } from ${JSON.stringify(join(ROOT, 'src/inspect/stately.ts'))};\n${contents}`,
      resolveDir: folder,
    },
    outfile,
    format: 'esm',
    bundle: true,
    platform: 'node',
    external: ['@statelyai/*'],
    logLevel: 'silent',
  });
  writeFileSync(join(folder, 'package.json'), '{}');
  return (await promisify(execFile)(process.execPath, [outfile], { cwd: folder, timeout: 30_000 })).stdout;
}

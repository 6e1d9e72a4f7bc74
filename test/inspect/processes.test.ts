import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { RunSummary } from '../../src/inspect/protocol.ts';
import { addressOfNobody, listenUntil, of, TOKEN, type Told } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'phasegate-inspect-'));

const SERVER = `
import { serve } from './src/inspect/server.ts';
import { RunStore } from './src/inspect/store.ts';
const [port, token] = process.argv.slice(2);
const store = new RunStore(2 ** 28);
const server = await serve({ store, page: new Map(), port: Number(port), token, title: '', live: true });
console.log(server.port);
`;

// Makes as many runs of two calls as each line says that it reads, and ends with the last line.
const AGENT = `
import { createInterface } from 'node:readline';
import { createEnforcement } from './src/index.ts';
import { inspectTo } from './src/inspect/index.ts';
const [url, options] = process.argv.slice(2);
const observer = inspectTo(url || undefined, JSON.parse(options ?? '{}'));
const enforcement = createEnforcement();
enforcement.on(observer);
const tool = enforcement.tool('tool', async () => 'done');
let runs = 0;
for await (const line of createInterface({ input: process.stdin })) {
  for (let i = 0; i < Number(line); i++) {
    await enforcement.withRun(async () => { await tool({ secret: 42 }); await tool(); }, { id: 'run ' + runs++ });
  }
  console.log(JSON.stringify({ runs, dropped: observer.dropped, problem: observer.problem }));
}
`;

beforeAll(async () => {
  for (const [name, contents] of Object.entries({ server: SERVER, agent: AGENT })) {
    await build({
      stdin: { contents, resolveDir: process.cwd(), loader: 'ts' },
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['elkjs'],
      outfile: join(folder, `${name}.mjs`),
      logLevel: 'silent',
    });
  }
});

interface Served {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
}

async function startServer(port = 0): Promise<Served> {
  const child = start('server.mjs', String(port), TOKEN);
  const [line] = await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line');
  return { port: Number(line), url: `http://127.0.0.1:${line}/?token=${TOKEN}`, process: child };
}

function start(program: string, ...args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(folder, program), ...args]);
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** An agent in another process. */
class Agent {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #errors = '';

  constructor(url: string, options: object = {}) {
    this.#child = start('agent.mjs', url, JSON.stringify(options));
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    this.#child.stderr?.on('data', (data) => {
      this.#errors += data;
    });
  }

  /** Makes runs, of ten events each or so. */
  async make(runs: number): Promise<{ runs: number; dropped: number; problem: string | null }> {
    this.#child.stdin?.write(`${runs}\n`);
    return JSON.parse((await this.#lines.next()).value);
  }

  /** Lets it end by itself. */
  async end(): Promise<{ code: number | null; errors: string }> {
    this.#child.stdin?.end();
    const [code] = await once(this.#child, 'close');
    return { code, errors: this.#errors };
  }
}

async function runsOf(
  server: Served,
  isEnough: (runs: readonly RunSummary[], all: readonly Told[]) => boolean,
) {
  const latest = (all: readonly Told[]) => [
    ...new Map(of(all, 'runs').flatMap((runs) => runs.map((run) => [run.key, run] as const))).values(),
  ];
  const all = await listenUntil(server as never, (all) => isEnough(latest(all), all));
  return { runs: latest(all), lost: of(all, 'dropped').at(-1)?.lost ?? [] };
}

const finished = (count: number) => (runs: readonly RunSummary[]) =>
  runs.filter(({ live }) => !live).length >= count;

describe('an agent in another process', { timeout: 60_000 }, () => {
  it('is seen whole, though no page was open while it ran, and it has ended', async () => {
    const server = await startServer();
    const agent = new Agent(server.url, { name: 'our agent' });
    await agent.make(500);
    expect(await agent.end()).toEqual({ code: 0, errors: '' });
    const { runs, lost } = await runsOf(server, finished(500));
    expect(new Set(runs.map(({ run }) => run)).size).toBe(500);
    for (const run of runs) {
      expect(run).toMatchObject({
        source: 'our agent',
        calls: 2,
        stepCount: 2,
        phase: 'ANSWERING',
        maxSteps: 50,
      });
    }
    expect(lost).toEqual([]);
  });

  it('ends as if nothing were, where there is no server', async () => {
    const agent = new Agent(await addressOfNobody());
    expect(await agent.make(10)).toMatchObject({ runs: 10, dropped: 0 });
    expect(await agent.end()).toEqual({ code: 0, errors: '' });
  });

  it('ends where the server takes its events and never answers', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await once(silent, 'listening');
    const { port } = silent.address() as { port: number };
    const agent = new Agent(`http://127.0.0.1:${port}/?token=${TOKEN}`);
    await agent.make(10);
    expect(await agent.end()).toEqual({ code: 0, errors: '' });
  });

  it('is seen again after the server was killed and has come back', async () => {
    const first = await startServer();
    const agent = new Agent(first.url);
    await agent.make(20);
    const before = await runsOf(first, finished(20));
    const taken = before.runs.reduce((sum, { events }) => sum + events, 0);
    first.process.kill('SIGKILL');
    await once(first.process, 'close');
    expect(await agent.make(30)).toMatchObject({ dropped: 0 });
    const second = await startServer(first.port);
    const { runs, lost } = await runsOf(second, finished(30));
    // All that was not taken by the first, and it says how much that was.
    expect(runs.map(({ run }) => run)).toEqual(Array.from({ length: 30 }, (_, i) => `run ${20 + i}`));
    expect(lost.map(({ events }) => events)).toEqual([taken]);
    expect((await agent.end()).code).toBe(0);
  });

  it('drops the oldest events when too many wait, and both sides say how many', async () => {
    const first = await startServer();
    first.process.kill('SIGKILL');
    await once(first.process, 'close');
    const agent = new Agent(first.url, { maxBuffered: 100 });
    const { dropped } = await agent.make(100);
    expect(dropped).toBeGreaterThan(500);
    const second = await startServer(first.port);
    const { runs, lost } = await runsOf(second, (runs) =>
      runs.some(({ run, live }) => run === 'run 99' && !live),
    );
    expect(lost.map(({ events }) => events)).toEqual([dropped]);
    expect(runs.length).toBeLessThan(15);
    await agent.end();
  });

  it('warns once where the token is another one, and goes on', async () => {
    const { port } = await startServer();
    const agent = new Agent(`http://127.0.0.1:${port}/?token=${'x'.repeat(20)}`);
    await agent.make(5);
    await agent.make(5);
    const { code, errors } = await agent.end();
    expect(code).toBe(0);
    expect(
      errors.match(/PhasegateWarning: phasegate inspect refuses the events: The token is another one/g),
    ).toHaveLength(1);
  });

  it('takes the address from PHASEGATE_INSPECT', async () => {
    const server = await startServer();
    process.env['PHASEGATE_INSPECT'] = server.url;
    onTestFinished(() => void delete process.env['PHASEGATE_INSPECT']);
    const agent = new Agent('');
    await agent.make(1);
    expect((await agent.end()).code).toBe(0);
    expect((await runsOf(server, finished(1))).runs).toHaveLength(1);
  });
});

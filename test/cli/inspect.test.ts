import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { createWebSocketReceiver } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { RunSummary } from '../../src/inspect/protocol.ts';
import { freePort } from '../free-port.ts';
import { eventsOfRun, listenUntil, of, TOKEN } from '../inspect/support.ts';
import { buildCommand } from './built.ts';
import { run } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'phasegate-cli-inspect-'));
const command = join(folder, 'phasegate.mjs');
// The package as it is installed, with a page that says nothing.
const installed = join(folder, 'node_modules', 'phasegate');

beforeAll(async () => {
  await buildCommand(command);
  mkdirSync(join(installed, 'dist', 'inspect'), { recursive: true });
  writeFileSync(join(installed, 'package.json'), '{"name":"phasegate","version":"0.0.0"}');
  for (const name of ['index.html', 'page.js', 'page.css', 'icon.svg']) {
    writeFileSync(join(installed, 'dist', 'inspect', name), `the ${name}`);
  }
});

/** `phasegate inspect` in another process. */
class Inspecting {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  errors = '';

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
    this.#child = spawn(process.execPath, [command, 'inspect', ...args], {
      cwd: folder,
      env: { ...process.env, ...env },
    });
    onTestFinished(() => void this.#child.kill('SIGKILL'));
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    this.#child.stderr?.on('data', (data) => {
      this.errors += data;
    });
  }

  get input() {
    return this.#child.stdin;
  }

  async line(): Promise<string> {
    return (await this.#lines.next()).value;
  }

  /** Ends as soon as the user presses Ctrl-C. */
  async interrupt(): Promise<number> {
    this.#child.kill('SIGINT');
    return this.ended();
  }

  async ended(): Promise<number> {
    const [code] = await once(this.#child, 'close');
    return code;
  }
}

async function inspecting(...args: readonly string[]) {
  const command = new Inspecting([...args, '--port', '0', '--json']);
  const { url, port } = JSON.parse(await command.line());
  return { command, url, port };
}

/** The runs that are shown, once they are as expected. */
async function shown(
  server: { readonly url: string },
  isEnough: (runs: readonly RunSummary[]) => boolean,
): Promise<readonly RunSummary[]> {
  const latest = new Map<string, RunSummary>();
  await listenUntil(server as never, (all) => {
    for (const run of of(all.slice(-1), 'runs').flat()) latest.set(run.key, run);
    return isEnough([...latest.values()]);
  });
  return [...latest.values()];
}

function write(name: string, events: readonly object[]): string {
  writeFileSync(join(folder, name), events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  return name;
}

const ended = (count: number) => (runs: readonly RunSummary[]) =>
  runs.filter(({ live }) => !live).length >= count;

describe('phasegate inspect', { timeout: 60_000 }, () => {
  it('says where the page is, how to stream to it, and ends with 130 at Ctrl-C', async () => {
    const command = new Inspecting(['--port', '0']);
    const first = await command.line();
    const [, url = ''] =
      /^Runs are shown at (http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32})$/.exec(first) ?? [];
    const said = [await command.line(), await command.line(), await command.line(), await command.line()];
    expect(said.join('\n')).toContain(`enforcement.on(inspectTo('${url}'))`);
    for (const path of ['', 'page.js', 'page.css', 'icon.svg']) {
      const response = await fetch(new URL(`/${path}`, url));
      expect(await response.text()).toBe(`the ${path || 'index.html'}`);
    }
    expect(await command.interrupt()).toBe(130);
    expect(command.errors).toBe('');
  });

  it('ends at Ctrl-C while pages are open', async () => {
    const { command, url } = await inspecting();
    const stream = await fetch(url.replace('/?', '/stream?'));
    expect(await command.interrupt()).toBe(130);
    await stream.body?.cancel().catch(() => {});
  });

  it('is at the address that PHASEGATE_INSPECT names, each time', async () => {
    const { command: before, port } = await inspecting();
    await before.interrupt();
    const address = `http://127.0.0.1:${port}/?token=${TOKEN}`;
    const command = new Inspecting(['--json'], { PHASEGATE_INSPECT: address });
    expect(JSON.parse(await command.line())).toEqual({ url: address, port });
  });

  it('refuses a port that is in use, and says what to do', async () => {
    const { port } = await inspecting();
    const command = new Inspecting(['--port', String(port)]);
    expect(await command.ended()).toBe(2);
    expect(command.errors).toBe(
      `error (port-in-use): Port ${port} is used by another program. Choose another: --port 0 takes any that is free\n`,
    );
  });

  it('says so where the page was not built', async () => {
    const page = join(installed, 'dist', 'inspect', 'page.js');
    renameSync(page, `${page}.away`);
    onTestFinished(() => renameSync(`${page}.away`, page));
    const command = new Inspecting(['--port', '0']);
    expect(await command.ended()).toBe(2);
    expect(command.errors).toMatch(
      /^error \(page-not-built\): The page cannot be read: .*run npm run build\n$/,
    );
  });

  it.each([
    [['--port', 'x'], /Expected a port: a whole number of 0 to 65535/],
    [['--port', '65536'], /Expected a port/],
    [['--keep', '0'], /Expected a whole number of mebibytes/],
    [['--format', 'nonsense'], /error \(unknown-format\)/],
    [['--config', 'nowhere.yaml'], /error \(config-unreadable\)|error \(/],
    [['--nonsense'], /unknown option '--nonsense'/],
  ])('takes no %j', async (args, message) => {
    const { code, err } = await run(['inspect', ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });

  it('takes no PHASEGATE_INSPECT that is no address', async () => {
    const { code, err } = await run(['inspect'], { env: { PHASEGATE_INSPECT: 'http://127.0.0.1:4983' } });
    expect(code).toBe(2);
    expect(err).toMatch(/PHASEGATE_INSPECT must be the address that phasegate inspect prints/);
  });
});

describe('--stately', { timeout: 60_000 }, () => {
  it('shows runs in one of Stately’s tools too', async () => {
    const port = await freePort();
    const relay = createInspectorServer({ port, autoOpen: false });
    onTestFinished(() => relay.stop());
    const url = `ws://localhost:${port}`;
    const names: string[] = [];
    createWebSocketReceiver({ server: url }).subscribe((event) => {
      if (event.type === '@xstate.actor') names.push(String(event.name));
    });
    const child = eventsOfRun('inside', { parent: 'outside', call: 'c' });
    const file = write('stately.jsonl', [...eventsOfRun('outside').slice(0, 2), ...child]);
    const { command } = await inspecting(file, '--stately', url);
    await vi.waitFor(
      () => expect(names).toEqual(['outside of stately.jsonl', 'inside of stately.jsonl']),
      10_000,
    );
    expect(await command.interrupt()).toBe(130);
    expect(command.errors).toBe('');
  });

  it('says so where there is none', async () => {
    const url = `ws://localhost:${await freePort()}`;
    const command = new Inspecting(['--port', '0', '--stately', url]);
    expect(await command.ended()).toBe(2);
    expect(command.errors).toMatch(/^error \(stately-unreachable\): /);
  });
});

describe('files that are shown', { timeout: 60_000 }, () => {
  it('may be standard input, as it comes', async () => {
    const server = await inspecting('-');
    const [first, ...rest] = eventsOfRun('piped');
    server.command.input?.write(`${JSON.stringify(first)}\n`);
    expect(await shown(server, (runs) => runs.length > 0)).toMatchObject([{ run: 'piped', live: true }]);
    server.command.input?.end(rest.map((event) => JSON.stringify(event)).join('\n'));
    expect(await shown(server, ended(1))).toMatchObject([{ run: 'piped', stepCount: 1 }]);
    expect(await server.command.interrupt()).toBe(130);
  });

  it.skipIf(process.platform === 'win32')(
    'may be named pipes: a recording of ours is shown as it was recorded, and nothing of it is read away',
    async () => {
      for (const name of ['one.pipe', 'two.pipe']) execFileSync('mkfifo', [join(folder, name)]);
      const server = await inspecting('one.pipe', '--file', 'two.pipe');
      for (const name of ['one', 'two']) {
        await writeFile(
          join(folder, `${name}.pipe`),
          eventsOfRun(name)
            .map((event) => `${JSON.stringify(event)}\n`)
            .join(''),
        );
      }
      const runs = await shown(server, ended(2));
      expect(runs.map(({ run, clock }) => [run, clock]).sort()).toEqual([
        ['one', 'time'],
        ['two', 'time'],
      ]);
      expect(await server.command.interrupt()).toBe(130);
      expect(server.command.errors).toBe('');
    },
  );

  it.skipIf(process.platform === 'win32')(
    'may be a named pipe that nobody writes to, which does not hold up the end',
    async () => {
      execFileSync('mkfifo', [join(folder, 'silent.pipe')]);
      const command = new Inspecting(['silent.pipe', '--port', '0']);
      for (let line = 0; line < 7; line++) await command.line();
      expect(await command.line()).toBe('silent.pipe is shown as it comes');
      expect(await command.interrupt()).toBe(130);
    },
  );

  it('says what comes of standard input before it has said anything', async () => {
    write('beside.jsonl', eventsOfRun('beside'));
    const command = new Inspecting(['-', 'beside.jsonl', '--port', '0']);
    for (let line = 0; line < 7; line++) await command.line();
    expect(await command.line()).toBe('1 run from 1 file');
    expect(await command.line()).toBe('stdin is shown as it comes');
  });

  it('may be many', async () => {
    mkdirSync(join(folder, 'many'), { recursive: true });
    for (let i = 0; i < 300; i++) write(join('many', `${i}.jsonl`), eventsOfRun(`run ${i}`));
    const command = new Inspecting(['many/*.jsonl', '--port', '0']);
    for (let line = 0; line < 7; line++) await command.line();
    expect(await command.line()).toBe('300 runs from 300 files');
    expect(await command.interrupt()).toBe(130);
  });
});

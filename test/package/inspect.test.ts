import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, inject, onTestFinished, test } from 'vitest';

const consumer = inject('consumer');
const command = join(consumer, 'node_modules/phasegate/dist/cli/index.js');

test.each([
  ['module', "import { createEnforcement } from 'phasegate'; import { inspectTo } from 'phasegate/inspect';"],
  [
    'commonjs',
    "const { createEnforcement } = require('phasegate'), { inspectTo } = require('phasegate/inspect');",
  ],
])(
  'phasegate inspect serves its page, and is told of the runs of a program that is a %s',
  async (type, imports) => {
    const server = spawn(process.execPath, [command, 'inspect', '--port', '0', '--json'], { cwd: consumer });
    onTestFinished(() => void server.kill());
    const [line] = await once(createInterface({ input: server.stdout }), 'line');
    const { url } = JSON.parse(line);
    const page = await (await fetch(url)).text();
    const loaded = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = '']) => path);
    expect(loaded.length).toBeGreaterThan(1);
    for (const path of loaded) expect((await fetch(new URL(path, url))).status).toBe(200);

    const agent = `${imports}
    const enforcement = createEnforcement();
    enforcement.on(inspectTo(process.argv[1], { name: 'packed' }));
    enforcement.withRun(() => enforcement.tool('search', async () => 'found')());`;
    execFileSync(process.execPath, [`--input-type=${type}`, '-e', agent, url], { cwd: consumer });
    const stream = await fetch(url.replace('/?', '/stream?'));
    let told = '';
    for await (const piece of stream.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      told += piece;
      if (told.includes('event: ready')) break;
    }
    expect(told).toMatch(/"source":"packed".*"phase":"ANSWERING".*"stepCount":1/);
  },
);

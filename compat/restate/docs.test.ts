/** The snippets of docs/scale.md that need Restate: a service, and agents that ask it. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Block, blocksOf } from '../../test/docs/markdown.ts';
import { runNode } from '../../test/docs/node.ts';
import { transpile } from '../../test/docs/workspace.ts';
import { faultsOf } from '../suite/docs.ts';
import { Child, freePorts, HOST, RestateServer, Service } from './processes.mjs';

const PAGE = 'docs/scale.md';

describe(`${PAGE}: the snippets of phasegate/restate`, () => {
  const blocks = blocksOf(PAGE);
  const snippets = blocks.filter(
    ({ language, text }) => language === 'ts' && text.includes("'phasegate/restate'"),
  );
  // Inside of this folder, so that the packages are found.
  const folder = resolve('.snippets', 'docs');
  const data = mkdtempSync(join(tmpdir(), 'phasegate-docs-'));
  let server: RestateServer;
  let service: Service;

  beforeAll(async () => {
    mkdirSync(folder, { recursive: true });
    for (const snippet of snippets) {
      writeFileSync(join(folder, nameOf(snippet)), `${snippet.text}\nexport {};\n`);
      writeFileSync(join(folder, programOf(snippet)), transpile(snippet.text, nameOf(snippet)));
    }
    const [port = 0, ...ports] = await freePorts(4);
    server = new RestateServer(data, ports);
    const env = { ...process.env, PORT: String(port) };
    service = new Service(port, new Child(process.execPath, ['service.js'], { cwd: folder, env }));
    await Promise.all([server.start(), service.start()]);
    await server.register(`http://${HOST}:${port}`);
  }, 60_000);

  afterAll(async () => {
    await Promise.all([server.child.kill(), service.child.kill()]);
    for (const path of [folder, data]) rmSync(path, { recursive: true, force: true });
  });

  it('are a service and an agent, without an error that a strict compiler sees', { timeout: 120_000 }, () => {
    expect(snippets.map(nameOf)).toEqual(['service.ts', 'agent.ts']);
    expect(faultsOf(snippets.map((snippet) => join(folder, nameOf(snippet))))).toBe('');
  });

  it('print what the page says', { timeout: 60_000 }, async () => {
    const agent = snippets.find((snippet) => nameOf(snippet) === 'agent.ts') as Block;
    const { code, stdout, stderr } = await runNode([programOf(agent)], folder, {
      RESTATE_INGRESS: server.ingress,
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.trimEnd()).toBe(blocks[blocks.indexOf(agent) + 1]?.text);
  });
});

/** As its first line says. */
function nameOf({ text }: Block): string {
  return /^\/\/ (\S+\.ts)$/m.exec(text)?.[1] ?? 'nameless';
}

function programOf(block: Block): string {
  return nameOf(block).replace(/ts$/, 'js');
}

// A server of MCP that reads files, five times in a session, and an agent that may call it three times in a run.
//
//   npm run build && cd examples/mcp && npm install --install-links && npm start
//
// The server is a process of its own, on the other end of stdio. The agent's model is scripted: it asks for the list of files,
// then for so many of them at once.
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/mcp';
import { z } from 'zod';

if (process.argv[2] === 'serve') await serve();
else await ask();

async function serve() {
  const gate = supervise(createSupervisor({ maxSteps: 5 }));
  const server = gate.server(new McpServer({ name: 'files', version: '1.0.0' }));
  server.registerTool('list', { description: 'Lists the files.' }, async () => resultOf(await readdir('.')));
  server.registerTool(
    'read',
    { description: 'Reads a file.', inputSchema: z.object({ name: z.string().regex(/^[\w.-]+$/) }) },
    async ({ name }) => resultOf([await readFile(name, 'utf8')]),
  );
  await server.connect(new StdioServerTransport());
}

function resultOf(texts) {
  return { content: texts.map((text) => ({ type: 'text', text })) };
}

async function ask() {
  const gate = supervise(createSupervisor({ maxSteps: 3 }));
  gate.enforcement.on((event) => {
    if (event.type === 'call.started') console.log(`  ${event.tool} ${JSON.stringify(event.args)}`);
    if (event.type === 'call.ended' && !event.ok)
      console.log(`  ${event.tool} failed: ${event.error.message}`);
    if (event.type === 'call.refused') console.log(`  ${event.tool} refused: ${event.message}`);
    if (event.type === 'run.ended') console.log(`The run ended after ${event.stepCount} calls.`);
  });

  const plain = new Client({ name: 'agent', version: '1.0.0' });
  await plain.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [fileURLToPath(import.meta.url), 'serve'],
    }),
  );
  const files = gate.client(plain);
  console.log(await gate.run(() => agent(files, 4)));
  console.log(await gate.run(() => agent(files, 2)));
  await plain.close();
}

async function agent(files, count) {
  const call = (name, args) => files.callTool({ name, arguments: args });
  const { content } = await call('list', {});
  const asked = Array.from({ length: count }, (_, n) => content[n % content.length].text);
  const results = await Promise.all(asked.map((name) => call('read', { name })));
  return `I have read ${results.filter(({ isError }) => !isError).length} of them.`;
}

// An agent of the Claude Agent SDK that reads files, and may read no more than three of them.
//
//   npm run build && cd examples/claude-agent && npm install --install-links && npm start
//
// The model is scripted, and asks for four files at once. With ANTHROPIC_API_KEY it is a real one.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as claude from '@anthropic-ai/claude-agent-sdk';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/claude-agent';
import { z } from 'zod';

const gate = supervise(createSupervisor({ maxSteps: 3 }));

gate.enforcement.on((event) => {
  if (event.type === 'call.started') console.log(`  ${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === 'call.refused') console.log(`  ${event.tool} refused: ${event.message}`);
  if (event.type === 'run.ended') console.log(`The run ended after ${event.stepCount} calls.`);
});

const answerOf = (text) => ({ content: [{ type: 'text', text }] });
const tools = gate.tools([
  claude.tool('list', 'Lists the files.', {}, async () => answerOf(JSON.stringify(await readdir('.')))),
  claude.tool('read', 'Reads a file.', { name: z.string().regex(/^[\w.-]+$/) }, async ({ name }) =>
    answerOf(await readFile(name, 'utf8')),
  ),
]);

// Away from your own settings, and from the network where the model is scripted.
const home = await mkdtemp(join(tmpdir(), 'phasegate-example-'));
const own = { PATH: process.env.PATH, HOME: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' };
const key = process.env.ANTHROPIC_API_KEY;
const env = key ? { ...own, ANTHROPIC_API_KEY: key } : { ...own, ...(await scripted()) };

const query = gate.agent(claude.query);
const messages = query({
  prompt: 'What is in these files?',
  options: {
    env,
    settingSources: [],
    tools: [],
    mcpServers: { files: claude.createSdkMcpServer({ name: 'files', tools }) },
    allowedTools: ['mcp__files__list', 'mcp__files__read'],
  },
});
for await (const message of messages) {
  if (message.type === 'result') console.log(message.subtype === 'success' ? message.result : message.errors);
}
await rm(home, { recursive: true, force: true, maxRetries: 3 });

/** The Messages API on loopback, with a model that lists the files, reads four, and answers. */
async function scripted() {
  const call = (name, input, n = 0) => ({
    type: 'tool_use',
    id: `${name}-${n}`,
    name: `mcp__files__${name}`,
    input,
  });
  const say = (results) => {
    if (results.length === 0) return [call('list', {})];
    const files = JSON.parse(results[0].content[0].text);
    if (results.length === 1)
      return [0, 1, 2, 3].map((n) => call('read', { name: files[n % files.length] }, n));
    const read = results.slice(1).filter(({ is_error }) => !is_error).length;
    return [{ type: 'text', text: `I have read ${read} of them.` }];
  };
  const server = createServer(async (request, response) => {
    if (!request.url.startsWith('/v1/messages?')) return response.writeHead(404).end();
    let body = '';
    for await (const chunk of request) body += chunk;
    const { messages, model } = JSON.parse(body);
    const blocks = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    const content = say(blocks.filter(({ type }) => type === 'tool_result'));
    const id = `msg_${randomUUID()}`;
    const usage = { input_tokens: 1, output_tokens: 1 };
    const stop = { stop_reason: content[0].type === 'text' ? 'end_turn' : 'tool_use', stop_sequence: null };
    const message = { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (type, event) =>
      response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...event })}\n\n`);
    send('message_start', { message });
    content.forEach((block, index) => {
      const isText = block.type === 'text';
      const delta = isText
        ? { type: 'text_delta', text: block.text }
        : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
      const content_block = isText ? { ...block, text: '' } : { ...block, input: {} };
      send('content_block_start', { index, content_block });
      send('content_block_delta', { index, delta });
      send('content_block_stop', { index });
    });
    send('message_delta', { delta: stop, usage });
    send('message_stop', {});
    response.end();
  });
  server.listen(0, '127.0.0.1').unref();
  await once(server, 'listening');
  return { ANTHROPIC_API_KEY: 'scripted', ANTHROPIC_BASE_URL: `http://127.0.0.1:${server.address().port}` };
}

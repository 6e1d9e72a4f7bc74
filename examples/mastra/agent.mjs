// An agent of Mastra that hands the reading of files to another, and that together may make no more than four calls.
//
//   npm run build && cd examples/mastra && npm install --install-links && npm start
//
// The models are scripted. With MODEL=<provider>/<model> and the key of the provider they are real ones.
import { readdir, readFile } from 'node:fs/promises';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/mastra';
import { z } from 'zod';

const gate = supervise(createSupervisor({ maxSteps: 4 }));

const depths = new Map();
gate.enforcement.on((event) => {
  if (event.type === 'run.started') depths.set(event.run, (depths.get(event.parent) ?? 0) + 1);
  const indent = '  '.repeat(depths.get(event.run) ?? 1);
  if (event.type === 'call.started') console.log(`${indent}${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === 'call.refused') console.log(`${indent}${event.tool} refused: ${event.message}`);
  if (event.type === 'run.ended') console.log(`${indent}ended after ${event.stepCount} calls`);
});

const tools = gate.tools({
  list: createTool({
    id: 'list',
    description: 'Lists the files.',
    inputSchema: z.object({}),
    execute: () => readdir('.'),
  }),
  read: createTool({
    id: 'read',
    description: 'Reads a file.',
    inputSchema: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
    execute: ({ name }) => readFile(name, 'utf8'),
  }),
});

const call = (toolName, input) => ({ toolName, input });
const reader = gate.agent(
  new Agent({
    id: 'reader',
    name: 'Reader',
    description: 'Reads files.',
    instructions: 'Read the files that you are asked for.',
    model: process.env.MODEL ?? scripted([[call('list', {})], files, 'I have read what I could.']),
    tools,
  }),
);
const writer = gate.agent(
  new Agent({
    id: 'writer',
    name: 'Writer',
    instructions: 'Let the reader read, and say what there is.',
    model: process.env.MODEL ?? scripted([[call('agent-reader', { prompt: 'Read it all' })], 'It was read.']),
    agents: { reader },
  }),
);

const { text } = await writer.generate('What is in these files?');
console.log(text);

/** Asks for four files at once. */
function files(results) {
  const names = results[0].value;
  return [0, 1, 2, 3].map((n) => call('read', { name: names[n % names.length] }));
}

/** A model that says in each turn what stands there: an answer, calls, or what a function makes of the results so far. */
function scripted(turns) {
  const say = (prompt) => {
    const results = prompt.flatMap(({ role, content }) =>
      role === 'tool' ? content.map(({ output }) => output) : [],
    );
    const turn = turns[prompt.filter(({ role }) => role === 'assistant').length];
    const said = typeof turn === 'function' ? turn(results) : turn;
    if (typeof said === 'string') return [{ type: 'text', text: said }];
    return said.map(({ toolName, input }, n) => {
      const toolCallId = `${toolName}-${results.length + n + 1}`;
      return { type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) };
    });
  };
  return {
    specificationVersion: 'v3',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    async doGenerate({ prompt }) {
      const content = say(prompt);
      const unified = content[0].type === 'text' ? 'stop' : 'tool-calls';
      const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  };
}

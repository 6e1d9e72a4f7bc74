// An agent of the AI SDK that reads files, and may read no more than three of them.
//
//   npm run build && cd examples/ai-sdk && npm install --install-links && npm start
//
// The model is scripted, and asks for four files at once. With MODEL=<provider>/<model> and AI_GATEWAY_API_KEY it is a real one.
import { readdir, readFile } from 'node:fs/promises';
import { ToolLoopAgent, tool } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/ai-sdk';
import { z } from 'zod';

const gate = supervise(createSupervisor({ maxSteps: 3 }));

gate.enforcement.on((event) => {
  if (event.type === 'call.started') console.log(`  ${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === 'call.refused') console.log(`  ${event.tool} refused: ${event.message}`);
  if (event.type === 'run.ended') console.log(`The run ended after ${event.stepCount} calls.`);
});

const tools = gate.tools({
  list: tool({
    description: 'Lists the files.',
    inputSchema: z.object({}),
    execute: () => readdir('.'),
  }),
  read: tool({
    description: 'Reads a file.',
    inputSchema: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
    execute: ({ name }) => readFile(name, 'utf8'),
  }),
});

const agent = gate.agent(new ToolLoopAgent({ model: process.env.MODEL ?? scripted(), tools }));
const { text } = await agent.generate({ prompt: 'What is in these files?' });
console.log(text);

function scripted() {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
  const call = (toolName, input, index = 0) => ({
    type: 'tool-call',
    toolCallId: `${toolName}-${index}`,
    toolName,
    input: JSON.stringify(input),
  });
  return new MockLanguageModelV4({
    doGenerate: async ({ prompt }) => {
      const results = prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
      const files = results[0]?.output.value ?? [];
      const content =
        results.length === 0
          ? [call('list', {})]
          : results.length === 1
            ? [0, 1, 2, 3].map((n) => call('read', { name: files[n % files.length] }, n))
            : [
                {
                  type: 'text',
                  text: `I have read ${results.filter(({ output }) => output.type === 'text').length} of them.`,
                },
              ];
      const unified = content[0].type === 'text' ? 'stop' : 'tool-calls';
      return { content, finishReason: { unified, raw: undefined }, usage, warnings: [] };
    },
  });
}

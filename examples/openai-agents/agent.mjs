// An agent of the OpenAI Agents SDK that lets another read files; all files together may be no more than three.
//
//   npm run build && cd examples/openai-agents && npm install --install-links && npm start
//
// The models are scripted, and the reader asks for four files at once. With MODEL=<model> and OPENAI_API_KEY they are real.
import { readdir, readFile } from 'node:fs/promises';
import { Agent, run, setTracingDisabled, tool, Usage } from '@openai/agents';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/openai-agents';
import { z } from 'zod';

// Traces go out to OpenAI.
setTracingDisabled(!process.env.OPENAI_API_KEY);

const gate = supervise(createSupervisor({ maxSteps: 5 }));

gate.enforcement.on((event) => {
  if (event.type === 'call.started') console.log(`  ${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === 'call.refused') console.log(`  ${event.tool} refused: ${event.message}`);
  if (event.type === 'run.ended') console.log(`A run ended after ${event.stepCount} calls.`);
});

const list = gate.tool(tool)({
  name: 'list',
  description: 'Lists the files.',
  parameters: z.object({}),
  execute: async () => (await readdir('.')).filter((name) => name.endsWith('.mjs')).join(),
});
const read = gate.tool(tool)({
  name: 'read',
  description: 'Reads a file.',
  parameters: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
  execute: ({ name }) => readFile(name, 'utf8'),
});

const reader = new Agent({
  name: 'Reader',
  instructions: 'Read all files that there are.',
  model:
    process.env.MODEL ?? scripted(calls('list'), readAll, (told) => `I have read ${told.length - 2} files.`),
  tools: [list, read],
});
const research = gate.agent(reader).asTool({ toolName: 'research', toolDescription: 'Reads the files.' });

const agent = new Agent({
  name: 'Main',
  model: process.env.MODEL ?? scripted(calls('research', { input: 'Read.' }), (told) => `It says: ${told}`),
  tools: [research],
});
const { finalOutput } = await gate.agent(run)(agent, 'What is in these files?');
console.log(finalOutput);

function calls(name, ...inputs) {
  return () => (inputs.length > 0 ? inputs : [{}]).map((input) => ({ name, input }));
}

function readAll([files]) {
  const [name] = files.split(',');
  return calls('read', ...Array.from({ length: 4 }, () => ({ name })))();
}

/** A model that says in each turn what a function makes of the results so far. */
function scripted(...turns) {
  return {
    getResponse: async ({ input }) => {
      const told = input
        .filter(({ type }) => type === 'function_call_result')
        .map(({ output }) => output.text);
      const said = turns.shift()(told);
      const output =
        typeof said === 'string'
          ? [
              {
                type: 'message',
                role: 'assistant',
                status: 'completed',
                content: [{ type: 'output_text', text: said }],
              },
            ]
          : said.map(({ name, input: args }, index) => ({
              type: 'function_call',
              callId: `${name}-${index}`,
              name,
              arguments: JSON.stringify(args),
              status: 'completed',
            }));
      return { output, usage: new Usage({ requests: 1 }) };
    },
  };
}

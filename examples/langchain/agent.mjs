// An agent of LangChain that reads files, and may read no more than two of them when it has listed them.
//
//   npm run build && cd examples/langchain && npm install --install-links && npm start
//
// The model is scripted, and asks for four files at once. With MODEL=<provider>:<model>, the provider's package and its key it
// is a real one.
import { readdir, readFile } from 'node:fs/promises';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage } from '@langchain/core/messages';
import { createAgent, tool } from 'langchain';
import { createSupervisor } from 'phasegate';
import { supervise } from 'phasegate/langchain';
import { z } from 'zod';

const gate = supervise(createSupervisor({ maxSteps: 3 }));

gate.enforcement.on((event) => {
  if (event.type === 'call.started') console.log(`  ${event.tool} ${JSON.stringify(event.args)}`);
  if (event.type === 'call.refused') console.log(`  ${event.tool} refused: ${event.message}`);
  if (event.type === 'run.ended') console.log(`The run ended after ${event.stepCount} calls.`);
});

const tools = gate.tools([
  tool(() => readdir('.'), { name: 'list', description: 'Lists the files.', schema: z.object({}) }),
  tool(({ name }) => readFile(name, 'utf8'), {
    name: 'read',
    description: 'Reads a file.',
    schema: z.object({ name: z.string().regex(/^[\w.-]+$/) }),
  }),
]);

const agent = gate.agent(createAgent({ model: process.env.MODEL ?? scripted(), tools }));
const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'What is in these files?' }] });
console.log(messages.at(-1).text);

function scripted() {
  const call = (name, args, index = 0) => ({ type: 'tool_call', id: `${name}-${index}`, name, args });
  const messageFor = (results) => {
    if (results.length === 0) return new AIMessage({ content: '', tool_calls: [call('list', {})] });
    const read = results.slice(1).filter(({ status }) => status !== 'error');
    if (results.length > 1) return new AIMessage(`I have read ${read.length} of them.`);
    const files = JSON.parse(results[0].text);
    const calls = [0, 1, 2, 3].map((n) => call('read', { name: files[n % files.length] }, n));
    return new AIMessage({ content: '', tool_calls: calls });
  };
  class Scripted extends BaseChatModel {
    _llmType() {
      return 'scripted';
    }
    bindTools() {
      return this;
    }
    async _generate(messages) {
      const message = messageFor(messages.filter(({ type }) => type === 'tool'));
      return { generations: [{ message, text: message.text }] };
    }
  }
  return new Scripted({});
}

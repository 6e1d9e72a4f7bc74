// Only compiled: what goes through the gate keeps the types of version 6. What is an error is in the folder of version 7.
import { generateText, streamText, ToolLoopAgent, tool } from 'ai';
import { createEnforcement } from 'phasegate';
import { supervise } from 'phasegate/ai-sdk';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

declare const model: Parameters<typeof generateText>[0]['model'];

const gate = supervise(createEnforcement());
const plain = {
  search: tool({
    inputSchema: z.object({ query: z.string() }),
    execute: async ({ query }) => [{ title: query }],
  }),
};
const tools = gate.tools(plain);
same<typeof tools, typeof plain>(true);

const agent = new ToolLoopAgent({ model, tools });
const supervised = gate.agent(agent);
same<typeof supervised, typeof agent>(true);

const generate = gate.agent(generateText);
const stream = gate.agent(streamText);
same<typeof generate, typeof generateText>(true);
same<typeof stream, typeof streamText>(true);

const { staticToolResults } = await generate({ model, tools, prompt: 'Go' });
for (const { output } of staticToolResults) same<typeof output, { title: string }[]>(true);

const streamed = gate.run((run) => streamText({ model, tools, prompt: 'Go', abortSignal: run.signal }));
for await (const text of streamed.textStream) same<typeof text, string>(true);

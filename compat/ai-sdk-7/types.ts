// Only compiled: what goes through the gate keeps its types, and what is no tool, agent or option is an error.
import { generateText, jsonSchema, streamText, ToolLoopAgent, tool } from 'ai';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/ai-sdk';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

declare const model: Parameters<typeof generateText>[0]['model'];

const options: GateOptions = {
  onBlocked: 'abort',
  maxBlocked: 5,
  timeoutMs: 60_000,
  unreadMs: 1000,
  budget: 'own',
};
const gate: Gate = supervise(createEnforcement(), options);
supervise(createSupervisor({ maxSteps: 20 }));
supervise({ agentProfile: { resourceBudget: { maxSteps: 20 } } });
same<typeof gate.enforcement, Enforcement>(true);

const search = tool({
  description: 'Searches.',
  inputSchema: z.object({ query: z.string(), limit: z.number().optional() }),
  execute: async ({ query, limit = 10 }) => [{ title: query, rank: limit }],
});
const read = tool({
  inputSchema: jsonSchema<{ path: string }>({ type: 'object' }),
  execute: async function* ({ path }) {
    yield path.length;
  },
});
// Executed by whoever made the request: there is no body here.
const confirm = tool({ inputSchema: z.object({ question: z.string() }), outputSchema: z.boolean() });

const plain = { search, read, confirm };
const tools = gate.tools(plain);
same<typeof tools, typeof plain>(true);

const agent = new ToolLoopAgent({ model, tools });
const supervised = gate.agent(agent, { timeoutMs: 1000 });
same<typeof supervised, typeof agent>(true);

const generate = gate.agent(generateText);
const stream = gate.agent(streamText);
same<typeof generate, typeof generateText>(true);
same<typeof stream, typeof streamText>(true);

const { staticToolResults } = await generate({ model, tools, prompt: 'Go' });
for (const result of staticToolResults) {
  if (result.toolName === 'search') same<typeof result.output, { title: string; rank: number }[]>(true);
  if (result.toolName === 'search')
    same<typeof result.input, { query: string; limit?: number | undefined }>(true);
  // @ts-expect-error There is no such tool.
  if (result.toolName === 'write') result.input;
}

const streamed = gate.run((run) => {
  same<typeof run, Run>(true);
  return streamText({ model, tools, prompt: 'Go', abortSignal: run.signal });
});
for await (const text of streamed.textStream) same<typeof text, string>(true);
same<Awaited<typeof streamed.text>, string>(true);
const text = gate.run(async () => (await supervised.generate({ prompt: 'Go' })).text, { timeoutMs: 1000 });
same<typeof text, Promise<string>>(true);

// @ts-expect-error It is no tool.
gate.tools({ search: 1 });
// @ts-expect-error A body is a function.
gate.tools({ search: { execute: 'search' } });
// @ts-expect-error Tools have names.
gate.tools(search);
// @ts-expect-error It is no agent.
gate.agent({ tools });
// @ts-expect-error Of the runs of an agent none has a signal of its own: an invocation has.
gate.agent(agent, { signal: AbortSignal.abort() });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error Budgets are in a configuration or an enforcement.
supervise({ maxSteps: 20 });
// @ts-expect-error The prompt is missing.
void generate({ model, tools });

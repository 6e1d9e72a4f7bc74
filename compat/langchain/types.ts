// Only compiled: what goes through the gate keeps its types, and what is no tool, agent or option is an error.
import { MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { createReactAgent, ToolNode } from '@langchain/langgraph/prebuilt';
import { createAgent, createMiddleware, tool, toolRetryMiddleware } from 'langchain';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateMiddleware, type GateOptions, supervise } from 'phasegate/langchain';
import { z } from 'zod';
import { ScriptedModel } from './model.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const model = new ScriptedModel(() => 'done');
const GO = { messages: [{ role: 'user', content: 'Go' }] };

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

const search = tool(({ query, limit = 10 }) => [{ title: query, rank: limit }], {
  name: 'search',
  description: 'Searches.',
  schema: z.object({ query: z.string(), limit: z.number().optional() }),
});
const read = tool(async ({ path }) => path, { name: 'read', schema: z.object({ path: z.string() }) });
// Executed by the provider: there is no body here.
const web = { type: 'web_search_20250305', name: 'web_search' };

const tools = gate.tools([search, read, web]);
same<typeof tools, [typeof search, typeof read, typeof web]>(true);
const list = [search, read];
same<ReturnType<typeof gate.tools<typeof list>>, typeof list>(true);

const agent = createAgent({
  model,
  tools,
  responseFormat: z.object({ answer: z.string() }),
  checkpointer: new MemorySaver(),
});
const supervised = gate.agent(agent, { timeoutMs: 1000 });
same<typeof supervised, typeof agent>(true);
const { structuredResponse } = await supervised.invoke(GO);
same<typeof structuredResponse, { answer: string }>(true);

const counting = createMiddleware({
  name: 'counting',
  stateSchema: z.object({ count: z.number().default(0) }),
  contextSchema: z.object({ user: z.string() }),
});
const middleware = gate.middleware([counting, toolRetryMiddleware()]);
same<(typeof middleware)[0], typeof counting>(true);
same<(typeof middleware)[2], GateMiddleware>(true);
const counted = gate.agent(createAgent({ model, tools: [search], middleware }));
const state = await counted.invoke(GO, { context: { user: 'one' } });
same<typeof state.count, number>(true);
// @ts-expect-error The state of the middleware is known.
state.total;
// @ts-expect-error And so is its context.
void counted.invoke(GO, { context: { user: 1 } });
gate.agent(createAgent({ model, tools: [search], middleware: gate.middleware() }));

const react = createReactAgent({ llm: model, tools: gate.tools([search, read]) });
const supervisedReact = gate.agent(react);
same<typeof supervisedReact, typeof react>(true);
new ToolNode(gate.tools([search]));

const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', () => ({ messages: [] }))
  .addEdge('__start__', 'model')
  .compile();
const supervisedGraph = gate.agent(graph);
same<typeof supervisedGraph, typeof graph>(true);

const stream = await supervised.stream(GO, { streamMode: 'values' });
for await (const { messages } of stream)
  same<typeof messages extends readonly unknown[] ? true : false, true>(true);

const text = gate.run(
  async (run) => {
    same<typeof run, Run>(true);
    return (await graph.invoke({ messages: [] }, { signal: run.signal })).messages.length;
  },
  { timeoutMs: 1000 },
);
same<typeof text, Promise<number>>(true);

// @ts-expect-error It is no tool.
gate.tools([1]);
// @ts-expect-error What invokes a tool is a function.
gate.tools([{ name: 'search', invoke: 'search' }]);
// @ts-expect-error Tools come in an array.
gate.tools(search);
// @ts-expect-error Middleware comes in an array.
gate.middleware(counting);
// @ts-expect-error It is no middleware.
gate.middleware([search.schema]);
// @ts-expect-error It is no agent.
gate.agent({ tools });
// @ts-expect-error Of the runs of an agent none has a signal of its own: an invocation has.
gate.agent(agent, { signal: AbortSignal.abort() });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error Budgets are in a configuration or an enforcement.
supervise({ maxSteps: 20 });

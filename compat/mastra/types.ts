// Only compiled: what goes through the gate keeps its types, and what is no tool, agent or option is an error.
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { createStep } from '@mastra/core/workflows';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/mastra';
import { z } from 'zod';
import { mastraModel } from './model.ts';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const options: GateOptions = { onBlocked: 'abort', maxBlocked: 5, timeoutMs: 60_000, unreadMs: 1000 };
const gate: Gate = supervise(createEnforcement(), options);
supervise(createSupervisor({ maxSteps: 20 }));
supervise({ agentProfile: { resourceBudget: { maxSteps: 20 } } });
same<typeof gate.enforcement, Enforcement>(true);

const search = createTool({
  id: 'search',
  description: 'Searches.',
  inputSchema: z.object({ query: z.string() }),
  outputSchema: z.object({ titles: z.array(z.string()) }),
  execute: async ({ query }) => ({ titles: [query] }),
});
const plain = { search };
const tools = gate.tools(plain);
same<typeof tools, typeof plain>(true);
createStep(tools.search);

const agent = new Agent({
  id: 'finder',
  name: 'Finder',
  instructions: 'Find.',
  model: mastraModel(() => 'done'),
  tools,
});
const supervised = gate.agent(agent, { timeoutMs: 1000 });
same<typeof supervised, typeof agent>(true);
new Agent({
  id: 'outer',
  name: 'Outer',
  instructions: 'Ask.',
  model: mastraModel(() => 'done'),
  agents: { supervised },
});

const { text, toolResults } = await supervised.generate('Go', { maxSteps: 3 });
same<typeof text, string>(true);
same<typeof toolResults, Awaited<ReturnType<typeof agent.generate>>['toolResults']>(true);
const { object } = await supervised.generate('Go', {
  structuredOutput: { schema: z.object({ title: z.string() }) },
});
same<typeof object, { title: string }>(true);
const streamed = await supervised.stream('Go');
same<Awaited<typeof streamed.text>, string>(true);

const answered = gate.run(async (run) => {
  same<typeof run, Run>(true);
  return (await agent.generate('Go', { abortSignal: run.signal })).text;
});
same<typeof answered, Promise<string>>(true);

// @ts-expect-error It is no tool.
gate.tools({ search: 1 });
// @ts-expect-error A body is a function.
gate.tools({ search: { execute: 'search' } });
// @ts-expect-error Tools have names.
gate.tools([search]);
// @ts-expect-error It is no agent.
gate.agent({ tools });
// @ts-expect-error Of the runs of an agent none has a signal of its own: an invocation has.
gate.agent(agent, { signal: AbortSignal.abort() });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error Budgets are in a configuration or an enforcement.
supervise({ maxSteps: 20 });

// Only compiled: what goes through the gate keeps its types, and what is no tool, agent or option is an error.
import { Agent, hostedMcpTool, type MCPServer, Runner, type RunState, run, tool } from '@openai/agents';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/openai-agents';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

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

const supervisedTool = gate.tool(tool);
same<typeof supervisedTool, typeof tool>(true);

interface Account {
  readonly user: string;
}

const search = supervisedTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string(), limit: z.number().nullable() }),
  execute: async (input, context, details) => {
    same<typeof input, { query: string; limit: number | null }>(true);
    same<NonNullable<typeof details>['signal'], AbortSignal | undefined>(true);
    return [{ title: input.query, usage: context?.usage.requests }];
  },
});
const plain = tool({
  name: 'plain',
  description: 'Is made without the gate.',
  parameters: z.object({}),
  execute: () => 'plain',
});
const hosted = hostedMcpTool({ serverLabel: 'pages', serverUrl: 'https://example.com' });
const tools = [plain, hosted] as const;
const supervisedTools = gate.tools(tools);
same<typeof supervisedTools, typeof tools>(true);

declare const server: MCPServer;
const supervisedServer = gate.mcpServer(server);
same<typeof supervisedServer, MCPServer>(true);

const agent = new Agent<Account, z.ZodObject<{ title: z.ZodString }>>({
  name: 'Finder',
  outputType: z.object({ title: z.string() }),
  tools: [search, ...supervisedTools],
  mcpServers: [supervisedServer],
});
const invoke = gate.agent(run, { timeoutMs: 1000 });
same<typeof invoke, typeof run>(true);
const runner = gate.agent(new Runner({ workflowName: 'finding' }));
same<typeof runner, Runner>(true);

const context: Account = { user: 'Ada' };
const result = await invoke(agent, 'Go', { context, maxTurns: 5 });
same<typeof result.finalOutput, { title: string } | undefined>(true);
same<typeof result.state, RunState<Account, typeof agent>>(true);
await runner.run(agent, result.state);

const streamed = await invoke(agent, 'Go', { context, stream: true });
same<typeof streamed.completed, Promise<void>>(true);
for await (const event of streamed) event.type satisfies string;

const supervised = gate.agent(agent, { budget: 'own' });
same<typeof supervised, typeof agent>(true);
const find = supervised.asTool({
  toolName: 'find',
  toolDescription: 'Finds.',
  parameters: z.object({ what: z.string() }),
  inputBuilder: ({ params }) => params.what,
});
find.on('run_item_stream_event', ({ agent: source }) => same<typeof source, typeof agent>(true));
new Agent({ name: 'Main', tools: [find] });

const title = gate.run(async (phases) => {
  same<typeof phases, Run>(true);
  return (await run(agent, 'Go', { context, signal: phases.signal })).finalOutput?.title;
});
same<typeof title, Promise<string | undefined>>(true);

supervisedTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string() }),
  // @ts-expect-error There is no such parameter.
  execute: ({ page }) => page,
});
// @ts-expect-error It is no tool.
gate.tools([1]);
// @ts-expect-error Tools are in an array.
gate.tools({ search });
// @ts-expect-error Tools are made by a function.
gate.tool(search);
// @ts-expect-error It is no server.
gate.mcpServer({ name: 'files' });
// @ts-expect-error It runs no agent.
gate.agent({ tools: [search] });
// @ts-expect-error Of the runs of an agent none has a signal of its own: an invocation has.
gate.agent(run, { signal: AbortSignal.abort() });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error The input is missing.
void invoke(agent);

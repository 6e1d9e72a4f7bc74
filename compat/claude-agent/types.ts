// Only compiled: what goes through the gate keeps its types, and what is no tool, query or option is an error.
import * as claude from '@anthropic-ai/claude-agent-sdk';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/claude-agent';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const options: GateOptions = { onBlocked: 'abort', maxBlocked: 5, timeoutMs: 60_000, unreadMs: 1000 };
const gate: Gate = supervise(createEnforcement(), options);
supervise(createSupervisor({ maxSteps: 20 }));
supervise({ agentProfile: { resourceBudget: { maxSteps: 20 } } });
same<typeof gate.enforcement, Enforcement>(true);

const search = claude.tool('search', 'Searches.', { query: z.string() }, async ({ query }) => ({
  content: [{ type: 'text', text: query }],
}));
const tools = gate.tools([search]);
same<typeof tools, (typeof search)[]>(true);
const server = claude.createSdkMcpServer({ name: 'own', tools });

const query = gate.agent(claude.query, { timeoutMs: 1000 });
same<typeof query, typeof claude.query>(true);
const messages = query({ prompt: 'Go', options: { mcpServers: { server }, maxTurns: 3 } });
same<typeof messages, claude.Query>(true);
for await (const message of messages) same<typeof message, claude.SDKMessage>(true);
// @ts-expect-error There is no such option.
query({ prompt: 'Go', options: { maxSteps: 3 } });
// @ts-expect-error The prompt is missing.
query({ options: {} });

const answered = gate.run(async (run) => {
  same<typeof run, Run>(true);
  return 1;
});
same<typeof answered, Promise<number>>(true);

// @ts-expect-error It is no tool.
gate.tools([1]);
// @ts-expect-error A body is a function.
gate.tools([{ name: 'search', handler: 'search' }]);
// @ts-expect-error A server takes a list.
gate.tools({ search });
// @ts-expect-error It is not the function that asks.
gate.agent(claude);
// @ts-expect-error Of the runs of a query none has a signal of its own: the query has an abort controller.
gate.agent(claude.query, { signal: AbortSignal.abort() });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error Budgets are in a configuration or an enforcement.
supervise({ maxSteps: 20 });

// Only compiled: what goes through the gate keeps its types, and what is no server, client or option is an error.
import { type CallToolResult, Client } from '@modelcontextprotocol/client';
import { McpServer } from '@modelcontextprotocol/server';
import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { type Gate, type GateOptions, type SessionRequest, supervise } from 'phasegate/mcp';
import { z } from 'zod';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function same<A, B>(_: Same<A, B>): void {}

const INFO = { name: 'pages', version: '1.0.0' };

const options: GateOptions = {
  onBlocked: 'abort',
  maxBlocked: 5,
  timeoutMs: 60_000,
  idleMs: 1000,
  maxRuns: 10,
  runFrom: ({ authInfo, runId }) => (authInfo ? `${authInfo.clientId} ${runId}` : undefined),
};
const gate: Gate = supervise(createEnforcement(), options);
supervise(createSupervisor({ maxSteps: 20 }), { runFrom: 'session' });
supervise({ agentProfile: { resourceBudget: { maxSteps: 20 } } });
same<typeof gate.enforcement, Enforcement>(true);
same<SessionRequest['runId'], string | undefined>(true);

const plain = new McpServer(INFO);
const server = gate.server(plain);
same<typeof server, McpServer>(true);
const handle = server.registerTool(
  'read',
  { inputSchema: z.object({ page: z.number() }), outputSchema: z.object({ text: z.string() }) },
  async ({ page }, ctx) => {
    same<typeof page, number>(true);
    ctx.mcpReq.signal.throwIfAborted();
    return { content: [], structuredContent: { text: `${page}` } };
  },
);
handle.update({ enabled: false });

class Pages extends McpServer {
  readonly pages: number = 3;
}
same<ReturnType<typeof gate.server<Pages>>['pages'], number>(true);

const client = gate.client(new Client(INFO), { sendRunId: true });
same<typeof client, Client>(true);
const result = gate.run(
  (run) => {
    same<typeof run, Run>(true);
    return client.callTool({ name: 'read', arguments: { page: 1 } }, { timeout: 1000 });
  },
  { timeoutMs: 1000 },
);
same<typeof result, Promise<CallToolResult>>(true);

// @ts-expect-error It is no server.
gate.server({});
// @ts-expect-error It is the server inside of one, which has no tools of its own.
gate.server(plain.server);
// @ts-expect-error It is no client.
gate.client(plain);
// @ts-expect-error There is no such option.
gate.client(new Client(INFO), { sendRun: true });
const schema = { inputSchema: z.object({ page: z.number() }) };
const list = async ({ page }: { page: string }) => ({ content: [{ type: 'text' as const, text: page }] });
// @ts-expect-error A page is a number.
server.registerTool('list', schema, list);
// @ts-expect-error A call has a name.
void client.callTool({ arguments: {} });
// @ts-expect-error There is no such policy.
supervise(createEnforcement(), { onBlocked: 'throw' });
// @ts-expect-error A run has a name that is a text.
supervise(createEnforcement(), { runFrom: () => 1 });
// @ts-expect-error Budgets are in a configuration or an enforcement.
supervise({ maxSteps: 20 });

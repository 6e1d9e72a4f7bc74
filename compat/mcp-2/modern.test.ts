import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import type { SupervisorOptions } from 'phasegate';
import type { GateOptions } from 'phasegate/mcp';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type Handler, type Session, Stage } from '../suite/mcp/stage.ts';
import { type Any, INFO, textOf } from '../suite/mcp/version.ts';
import { version } from './version.ts';

/** The protocol of 2026-07-28, which has no sessions: the SDK makes a server for each request. */
describe('gate.server: only in version 2', () => {
  let stage: Stage;

  afterEach(() => stage.close());

  async function open(
    handlers: Readonly<Record<string, Handler>>,
    rules: SupervisorOptions,
    options: GateOptions = {},
  ): Promise<Session> {
    stage = new Stage(version, rules, { idleMs: 200, ...options });
    const handler = createMcpHandler(() => stage.server(handlers));
    const client = new Client(INFO, {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    client.setRequestHandler('elicitation/create', async () => ({
      action: 'accept',
      content: { sure: true },
    }));
    const transport = new StreamableHTTPClientTransport(new URL('http://localhost/mcp'), {
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    });
    await client.connect(transport);
    return stage.sessionOf(client);
  }

  it('a call that names no run is refused: each would have a budget of its own', async () => {
    const session = await open({ search: () => 'found' }, {});
    expect(textOf(await session.call('search'))).toContain(
      'no agent run is active: the server keeps no sessions, and the call names no run',
    );
    expect(stage.world.started).toEqual([]);
  });

  it('calls are of the run that they name', async () => {
    const session = await open({ search: () => 'found' }, { maxSteps: 2 });
    for (let n = 0; n < 3; n += 1) await session.callIn('a');
    expect(textOf(await session.callIn('a'))).toContain('Step budget exhausted: 2/2');
    expect(await session.callIn('b')).not.toMatchObject({ isError: true });
    expect(stage.world.started).toHaveLength(3);
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(2));
  });

  it('a client under enforcement sends the run that its calls are of', async () => {
    const session = await open({ search: () => 'found' }, { maxSteps: 2 });
    const client = stage.gate.client(session.client, { sendRunId: true });
    for (let n = 0; n < 2; n += 1) {
      await stage.gate.run(async () => {
        for (let m = 0; m < 3; m += 1) await client.callTool({ name: 'search', arguments: {} });
      });
    }
    expect(stage.world.started).toHaveLength(4);
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(4));
  });

  it('a handler that asks the user back is a call each time that it runs', async () => {
    const requested = inputRequired.elicit({
      message: 'Are you sure?',
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
    });
    const remove: Handler = (_, extra: Any) =>
      extra.mcpReq.inputResponses === undefined ? inputRequired({ inputRequests: { requested } }) : 'removed';
    const session = await open({ remove }, { maxSteps: 3 });
    expect(textOf(await session.callIn('a', 'remove'))).toBe('removed');
    expect(stage.world.started).toEqual(['remove', 'remove']);
    expect(stage.world.of('call.ended')).toMatchObject([{ ok: true }, { ok: true }]);
    await vi.waitFor(() => expect(stage.world.ended).toMatchObject([{ stepCount: 2 }]));
  });

  it('a schema of any kind, and none, goes through', async () => {
    stage = new Stage(version, { maxSteps: 2 });
    const server = stage.server({});
    stage.register(server, 'plain', () => 'plain', { inputSchema: undefined });
    stage.register(server, 'shaped', () => 'shaped', { inputSchema: { query: z.string().optional() } });
    const session = await stage.connect(server);
    for (const name of ['plain', 'shaped']) expect(textOf(await session.call(name))).toBe(name);
    expect(await session.call('plain')).toMatchObject({ isError: true });
  });
});

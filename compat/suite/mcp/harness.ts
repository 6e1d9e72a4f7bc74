/**
 * An agent as MCP has them: a loop of one's own, with a client that calls the tools of a server. The model is scripted, the
 * client is under enforcement, and the server is not.
 */
import type { Run } from 'phasegate';
import { supervise } from 'phasegate/mcp';
import { z } from 'zod';
import type { Agent, Ask, Body, Harness, Setup } from '../harness.ts';
import {
  type Any,
  callTool,
  connect,
  type Extra,
  INFO,
  result,
  signalOf,
  textOf,
  type Version,
} from './version.ts';

const MOST_TURNS = 50;

export function harnessOf(version: Version): Harness {
  return {
    name: 'gate.client',
    // What a stream is, is up to whoever writes the loop: there is none in MCP.
    streams: false,
    agent: (setup) => agentOf(version, setup),
    inRun: async (setup, code) => {
      const { gate, call } = await toolsOf(version, setup);
      await gate.run((run) => code(run, (tool) => call({ tool }, 'asked')));
    },
  };
}

function agentOf(version: Version, setup: Setup): Agent {
  const conversation = { turns: 0, told: [] as readonly string[] };
  const connected = toolsOf(version, setup);
  const ask: Agent['ask'] = async ({ signal } = {}) => {
    const { gate, call } = await connected;
    return await gate.run((run) => loop(run, call), { signal });
  };
  async function loop(run: Run, call: (ask: Ask, id: string) => Promise<string>): Promise<string> {
    const told: string[] = [];
    for (let turn = 0; turn < MOST_TURNS; turn += 1) {
      run.signal.throwIfAborted();
      conversation.turns += 1;
      conversation.told = [...told];
      const said = setup.script(turn, told);
      if (typeof said === 'string') return said;
      const asked = told.length;
      told.push(...(await Promise.all(said.map((one, index) => call(one, `asked-${asked + index + 1}`)))));
    }
    throw new Error('The model does not come to an end');
  }
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask,
    stream: () => Promise.reject(new Error('There are no streams')),
  };
}

async function toolsOf(version: Version, setup: Pick<Setup, 'enforcement' | 'options' | 'bodies'>) {
  const gate = supervise(setup.enforcement, setup.options);
  const server = new version.McpServer(INFO);
  const plain = new version.Client(INFO);
  const client = gate.client(plain);
  const call = async ({ tool, args = {} }: Ask, id: string): Promise<string> =>
    textOf(await callTool(version, client, { name: tool, arguments: args, _meta: { 'phasegate/call': id } }));
  for (const [name, body] of Object.entries(setup.bodies)) register(server, name, body, call);
  await connect(version, server, plain);
  return { gate, call };
}

function register(
  server: Any,
  name: string,
  body: Body,
  call: (ask: Ask, id: string) => Promise<string>,
): void {
  const handler = async (args: Record<string, unknown>, extra: Extra) =>
    result(
      await body(args, {
        signal: signalOf(extra),
        call: (tool, nested) => call({ tool, ...(nested && { args: nested }) }, `from-${name}`),
      }),
    );
  server.registerTool(name, { inputSchema: z.looseObject({}) }, handler);
}

/** The Claude Agent SDK as the scenarios drive it. */
import * as claude from '@anthropic-ai/claude-agent-sdk';
import { supervise } from 'phasegate/claude-agent';
import { z } from 'zod';
import type { Agent, AskOptions, Body, Harness, Setup } from '../suite/harness.ts';
import { type Conversation, serveModel, textOf } from './api.ts';
import { answerIn, optionsFor } from './claude.ts';

const { createSdkMcpServer, tool } = claude;

interface Tool {
  readonly name: string;
  handler(args: unknown, extra: unknown): Promise<{ readonly content: unknown }>;
}

export const harness: Harness = {
  name: 'query',
  streams: true,
  // Claude Code is a process, which takes a while to start.
  deadlineMs: 8000,
  agent: agentOf,
  inRun: async (setup, code) => {
    const gate = supervise(setup.enforcement, setup.options);
    const tools: readonly Tool[] = gate.tools(toolsOf(setup.bodies, () => tools));
    await gate.run((run) => code(run, (name) => callTool(tools, name, {}, {})));
  },
};

function agentOf(setup: Setup): Agent {
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const tools: readonly Tool[] = gate.tools(toolsOf(setup.bodies, () => tools));
  const query = gate.agent(claude.query);
  const start = async ({ signal }: AskOptions = {}) => {
    const options = optionsFor(await serveModel(() => setup.script, conversation));
    const abortController = new AbortController();
    if (signal?.aborted) abortController.abort(signal.reason);
    signal?.addEventListener('abort', () => abortController.abort(signal.reason));
    return query({
      prompt: 'Go',
      options: {
        ...options,
        abortController,
        // A server has one connection, so that each query needs its own.
        mcpServers: { own: createSdkMcpServer({ name: 'own', tools: tools as never }) },
        allowedTools: tools.map(({ name }) => `mcp__own__${name}`),
      },
    });
  };
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask: async (options) => await answerIn(await start(options)),
    stream: start,
  };
}

async function callTool(tools: readonly Tool[], name: string, args: object, extra: unknown): Promise<string> {
  const result = await tools.find((candidate) => candidate.name === name)?.handler(args, extra);
  return textOf(result?.content);
}

function toolsOf(bodies: Readonly<Record<string, Body>>, own: () => readonly Tool[]): readonly Tool[] {
  return Object.entries(bodies).map(([name, body]) =>
    tool(
      name,
      name,
      { n: z.number().optional() },
      async (args, extra) => {
        const result = await body(args as Record<string, unknown>, {
          signal: (extra as { readonly signal?: AbortSignal }).signal,
          call: (nested, nestedArgs = {}) => callTool(own(), nested, nestedArgs, extra),
        });
        return { content: [{ type: 'text', text: String(result) }] };
      },
      // Claude Code asks for those that it knows to change nothing at once.
      { annotations: { readOnlyHint: true } },
    ),
  ) as unknown as readonly Tool[];
}

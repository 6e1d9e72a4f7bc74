/** Mastra as the scenarios drive it. */
import { Agent as MastraAgent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { supervise, type Tool } from 'phasegate/mastra';
import { z } from 'zod';
import type { Conversation } from '../suite/ai-sdk/model.ts';
import type { Agent, Body, Harness, Setup } from '../suite/harness.ts';
import { mastraModel } from './model.ts';

type Tools = Record<string, Tool & { execute(input: unknown, context: unknown): unknown }>;

export const harness: Harness = {
  name: 'Agent',
  streams: true,
  agent: agentOf,
  inRun: async (setup, code) => {
    const gate = supervise(setup.enforcement, setup.options);
    const tools: Tools = gate.tools(toolsOf(setup.bodies, () => tools));
    await gate.run((run) =>
      code(
        run,
        async (tool) => await tools[tool]?.execute({}, { agent: { toolCallId: 'asked', messages: [] } }),
      ),
    );
  },
};

function agentOf(setup: Setup): Agent {
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const tools: Tools = gate.tools(toolsOf(setup.bodies, () => tools));
  const agent = gate.agent(
    new MastraAgent({
      id: 'scripted',
      name: 'Scripted',
      instructions: 'Go.',
      model: mastraModel(setup.script, conversation),
      tools: tools as never,
    }),
  );
  const options = (signal: AbortSignal | undefined) => ({
    maxSteps: 50,
    ...(signal && { abortSignal: signal }),
  });
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask: async ({ signal } = {}) => (await agent.generate('Go', options(signal))).text,
    stream: async ({ signal } = {}) => (await agent.stream('Go', options(signal))).fullStream,
  };
}

function toolsOf(bodies: Readonly<Record<string, Body>>, own: () => Tools): Tools {
  const toolOf = ([name, body]: [string, Body]) => [
    name,
    createTool({
      id: name,
      description: name,
      inputSchema: z.looseObject({}),
      execute: async (args, context) => {
        const result = await body(args, {
          signal: context.abortSignal,
          call: async (tool, nested = {}) => await own()[tool]?.execute(nested, context),
        });
        // An agent of Mastra stops, without an answer, after a tool that returned nothing.
        return result ?? null;
      },
    }),
  ];
  return Object.fromEntries(Object.entries(bodies).map(toolOf));
}

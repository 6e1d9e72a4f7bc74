/** The OpenAI Agents SDK as the scenarios drive it. */
import {
  type FunctionTool,
  RunContext,
  Runner,
  run,
  Agent as SdkAgent,
  setTracingDisabled,
  tool,
} from '@openai/agents';
import { type Gate, supervise } from 'phasegate/openai-agents';
import type { Agent, Body, Harness, Setup } from '../suite/harness.ts';
import { type Conversation, modelOf } from './model.ts';
import type { AnyAgent } from './stage.ts';

// Traces go out to a server.
setTracingDisabled(true);

type Tools = Record<string, FunctionTool>;

/** What `run` is called with besides agent and input. */
interface Options {
  readonly signal?: AbortSignal;
  readonly maxTurns: number;
}

interface Invocations {
  ask(options: Options): Promise<{ readonly finalOutput?: unknown }>;
  stream(options: Options): Promise<AsyncIterable<unknown>>;
}

/** The ways to use it: the function, a runner, and code of one's own around the function. */
export function harnesses(): Harness[] {
  return (['run', 'Runner', 'gate.run'] as const).map((name) => ({
    name,
    streams: true,
    agent: (setup) => agentOf(name, setup),
    inRun: async (setup, code) => {
      const gate = supervise(setup.enforcement, setup.options);
      const tools = toolsOf(gate, setup.bodies);
      await gate.run((phases) =>
        code(phases, async (name) => await tools[name]?.invoke(new RunContext(), '{}')),
      );
    },
  }));
}

function agentOf(name: string, setup: Setup): Agent {
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const agent = new SdkAgent({
    name: 'agent',
    model: modelOf(setup.script, conversation),
    tools: Object.values(toolsOf(gate, setup.bodies)),
  });
  const { ask, stream } = invocations(name, gate, agent);
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask: async ({ signal } = {}) =>
      String((await ask({ maxTurns: 50, ...(signal && { signal }) })).finalOutput),
    stream: async ({ signal } = {}) => await stream({ maxTurns: 50, ...(signal && { signal }) }),
  };
}

function invocations(name: string, gate: Gate, agent: AnyAgent): Invocations {
  if (name === 'gate.run') {
    return {
      ask: ({ signal, ...options }) =>
        gate.run((phases) => run(agent, 'Go', { ...options, signal: phases.signal }), { signal }),
      stream: ({ signal, ...options }) =>
        gate.run((phases) => run(agent, 'Go', { ...options, signal: phases.signal, stream: true }), {
          signal,
        }),
    };
  }
  if (name === 'Runner') {
    const runner = gate.agent(new Runner());
    return {
      ask: (options) => runner.run(agent, 'Go', options),
      stream: (options) => runner.run(agent, 'Go', { ...options, stream: true }),
    };
  }
  const invoke = gate.agent(run);
  return {
    ask: (options) => invoke(agent, 'Go', options),
    stream: (options) => invoke(agent, 'Go', { ...options, stream: true }),
  };
}

function toolsOf(gate: Gate, bodies: Readonly<Record<string, Body>>): Tools {
  const toolOf = ([name, body]: [string, Body]): [string, FunctionTool] => [
    name,
    gate.tool(tool)({
      name,
      description: name,
      parameters: { type: 'object', properties: {}, required: [], additionalProperties: true },
      strict: false,
      // The model is told of errors what the application says, and by default nothing.
      errorFunction: (_, error) => `${error}`,
      execute: (args, context, details) =>
        body(args as Record<string, unknown>, {
          signal: details?.signal,
          call: async (other, nested = {}) =>
            await tools[other]?.invoke(context as RunContext, JSON.stringify(nested), details),
        }),
    }) as FunctionTool,
  ];
  const tools: Tools = Object.fromEntries(Object.entries(bodies).map(toolOf));
  return tools;
}

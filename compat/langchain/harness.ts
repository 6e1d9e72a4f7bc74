/** LangChain and LangGraph as the scenarios drive them. */
import { type DynamicStructuredTool, type StructuredToolInterface, tool } from '@langchain/core/tools';
import { MessagesAnnotation, StateGraph } from '@langchain/langgraph';
import { createReactAgent, ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { type Gate, supervise } from 'phasegate/langchain';
import { z } from 'zod';
import type { Agent, Body, Harness, Setup } from '../suite/harness.ts';
import { type Conversation, ScriptedModel } from './model.ts';

export type Tools = Record<string, StructuredToolInterface>;

/** What of the agents of all kinds is used. */
export interface Invocable {
  invoke(input: object, config?: object): Promise<{ messages: { readonly text: string }[] }>;
  stream(input: object, config?: object): Promise<AsyncIterable<unknown>>;
}

type Build = (gate: Gate, model: ScriptedModel, tools: StructuredToolInterface[]) => Invocable;

const BUILDS: Readonly<Record<string, Build>> = {
  'createAgent with tools': (gate, model, tools) =>
    gate.agent(createAgent({ model, tools: gate.tools(tools) })) as Invocable,
  'createAgent with middleware': (gate, model, tools) =>
    gate.agent(createAgent({ model, tools, middleware: gate.middleware() })) as Invocable,
  createReactAgent: (gate, llm, tools) =>
    gate.agent(createReactAgent({ llm, tools: gate.tools(tools) })) as unknown as Invocable,
  'a graph with a ToolNode, in gate.run': (gate, model, tools) => {
    const graph = graphOf(model, gate.tools(tools));
    const inRun =
      <T>(invoke: (input: object, config: object) => Promise<T>) =>
      (input: object, config: { signal?: AbortSignal } = {}): Promise<T> =>
        gate.run((run) => invoke(input, { ...config, signal: run.signal }), { signal: config.signal });
    return {
      invoke: inRun((input, config) => graph.invoke(input as never, config) as never),
      stream: inRun(async (input, config) => await graph.stream(input as never, config)),
    };
  },
};

/** The ways to use them. */
export const harnesses: readonly Harness[] = Object.entries(BUILDS).map(([name, build]) => ({
  name,
  streams: true,
  agent: (setup) => agentOf(build, setup),
  inRun: async (setup, code) => {
    const gate = supervise(setup.enforcement, setup.options);
    const tools = toolsOf(setup.bodies, gate);
    await gate.run((run) =>
      code(
        run,
        async (name) => await tools[name]?.invoke({ type: 'tool_call', name, args: {}, id: 'asked' }),
      ),
    );
  },
}));

function agentOf(build: Build, setup: Setup): Agent {
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const model = new ScriptedModel(setup.script, conversation);
  const agent = build(gate, model, Object.values(toolsOf(setup.bodies, gate, false)));
  const input = { messages: [{ role: 'user', content: 'Go' }] };
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask: async ({ signal } = {}) =>
      (await agent.invoke(input, { signal, recursionLimit: 100 })).messages.at(-1)?.text ?? '',
    stream: ({ signal } = {}) => agent.stream(input, { signal, recursionLimit: 100 }),
  };
}

/** A graph of one's own, of the usual shape. */
export function graphOf(model: ScriptedModel, tools: StructuredToolInterface[]) {
  return new StateGraph(MessagesAnnotation)
    .addNode('model', async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addEdge('__start__', 'model')
    .addConditionalEdges('model', toolsCondition)
    .addEdge('tools', 'model')
    .compile();
}

/** Tools with these bodies, which call each other under enforcement. */
function toolsOf(bodies: Readonly<Record<string, Body>>, gate: Gate, wrapped = true): Tools {
  const plain: Tools = {};
  const guarded: Tools = {};
  for (const [name, body] of Object.entries(bodies)) {
    plain[name] = toolOf(name, (args, config) =>
      body(args, {
        signal: config?.signal,
        call: async (other, nested = {}) => await guarded[other]?.invoke(nested),
      }),
    );
    guarded[name] = gate.tools([plain[name]])[0] as StructuredToolInterface;
  }
  return wrapped ? guarded : plain;
}

/** A tool with a body of any kind. */
export function toolOf(
  name: string,
  body: (args: Record<string, unknown>, config: { signal?: AbortSignal } | undefined) => unknown,
): DynamicStructuredTool {
  return tool(async (args: Record<string, unknown>, config) => await body(args, config), {
    name,
    description: name,
    schema: z.looseObject({}),
  });
}

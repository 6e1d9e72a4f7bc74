/**
 * The AI SDK as the scenarios drive it. Versions 6 and 7 differ in the names of a stop condition and of the test model only,
 * so each brings its own; what the adapter does to types is checked in their folders.
 */
import { type Gate, supervise } from 'phasegate/ai-sdk';
import type { Agent, Body, Harness, Setup } from '../harness.ts';
import { type Conversation, modelOf, type Version } from './model.ts';

export type Tools = Record<string, { execute(args: unknown, options: unknown): unknown }>;

/** The ways to use it: an agent, the two functions, and code of one's own around them. */
export function harnesses(version: Version): Harness[] {
  return (['ToolLoopAgent', 'generateText and streamText', 'gate.run'] as const).map((name) => ({
    name,
    streams: true,
    agent: (setup) => agentOf(version, name, setup),
    inRun: async (setup, code) => {
      const gate = supervise(setup.enforcement, setup.options);
      const tools: Tools = gate.tools(toolsOf(version, setup.bodies, () => tools));
      await gate.run((run) =>
        code(run, async (tool) => await tools[tool]?.execute({}, { toolCallId: 'asked', messages: [] })),
      );
    },
  }));
}

function agentOf(version: Version, name: string, setup: Setup): Agent {
  const { stepCountIs } = version;
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const tools: Tools = gate.tools(toolsOf(version, setup.bodies, () => tools));
  const settings = { model: modelOf(version, setup.script, conversation), tools, stopWhen: stepCountIs(50) };
  const invoke = invocations(version, name, gate, settings);
  return {
    get turns() {
      return conversation.turns;
    },
    get told() {
      return conversation.told;
    },
    ask: async ({ signal } = {}) => (await invoke.generate({ prompt: 'Go', abortSignal: signal })).text,
    stream: async ({ signal } = {}) =>
      (await invoke.stream({ prompt: 'Go', abortSignal: signal })).fullStream,
  };
}

interface Invocations {
  generate(options: object): PromiseLike<{ readonly text: string }>;
  stream(options: object): StreamResult | PromiseLike<StreamResult>;
}

interface StreamResult {
  readonly fullStream: AsyncIterable<unknown>;
}

function invocations({ ai }: Version, name: string, gate: Gate, settings: object): Invocations {
  if (name === 'ToolLoopAgent') return gate.agent(new ai.ToolLoopAgent(settings)) as Invocations;
  const generateText = ai.generateText as Invocations['generate'];
  const streamText = ai.streamText as (options: object) => StreamResult;
  if (name === 'gate.run') {
    const inRun =
      <T>(invoke: (options: object) => T) =>
      ({ abortSignal, ...options }: { abortSignal?: AbortSignal }) =>
        gate.run((run) => invoke({ ...settings, ...options, abortSignal: run.signal }), {
          signal: abortSignal,
        });
    return { generate: inRun(generateText), stream: inRun(streamText) };
  }
  const [generate, stream] = [gate.agent(generateText), gate.agent(streamText)];
  return {
    generate: (options) => generate({ ...settings, ...options }),
    stream: (options) => stream({ ...settings, ...options }),
  };
}

function toolsOf({ ai }: Version, bodies: Readonly<Record<string, Body>>, own: () => Tools): Tools {
  const toolOf = ([name, body]: [string, Body]) => [
    name,
    ai.tool({
      description: name,
      inputSchema: ai.jsonSchema({ type: 'object' }),
      execute: (args: Record<string, unknown>, options: { abortSignal?: AbortSignal }) =>
        body(args, {
          signal: options.abortSignal,
          call: async (tool, nested = {}) => await own()[tool]?.execute(nested, options),
        }),
    }),
  ];
  return Object.fromEntries(Object.entries(bodies).map(toolOf));
}

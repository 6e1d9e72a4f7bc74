/**
 * The AI SDK as the scenarios drive it. Versions 6 and 7 differ in the names of a stop condition and of the test model only,
 * so each brings its own; what the adapter does to types is checked in their folders.
 */
import { type Gate, supervise } from 'phasegate/ai-sdk';
import type { Agent, Body, Harness, Script, Setup, Turn } from './harness.ts';

/** What of the package `ai` is used. */
export interface AiSdk {
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  readonly [name: string]: any;
}

export interface Version {
  readonly ai: AiSdk;
  /** `MockLanguageModelV3` or `MockLanguageModelV4`. */
  readonly Model: new (
    options: object,
  ) => object;
  /** `stepCountIs` or `isStepCount`. */
  readonly stepCountIs: (count: number) => unknown;
}

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
  const { ai, stepCountIs } = version;
  const conversation: Conversation = { turns: 0, told: [] };
  const gate = supervise(setup.enforcement, setup.options);
  const tools: Tools = gate.tools(toolsOf(version, setup.bodies, () => tools));
  const settings = { model: modelOf(version, setup.script, conversation), tools, stopWhen: stepCountIs(50) };
  const invoke = invocations(ai, name, gate, settings);
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

function invocations(ai: AiSdk, name: string, gate: Gate, settings: object): Invocations {
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

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

interface Prompt {
  readonly prompt: readonly {
    readonly role: string;
    readonly content: readonly { readonly output?: unknown }[];
  }[];
}

interface Conversation {
  turns: number;
  told: readonly string[];
}

/** A model that says what the script says, and remembers what it was told. */
export function modelOf(
  { Model }: Version,
  script: Script,
  conversation: Conversation = { turns: 0, told: [] },
): object {
  const say = ({ prompt }: Prompt) => {
    const told = prompt
      .filter(({ role }) => role === 'tool')
      .flatMap(({ content }) => content.map(({ output }) => textOf(output)));
    conversation.turns += 1;
    conversation.told = told;
    return contentOf(script(prompt.filter(({ role }) => role === 'assistant').length, told), told.length);
  };
  return new Model({
    doGenerate: async (options: Prompt) => ({ ...say(options), usage: USAGE, warnings: [] }),
    doStream: async (options: Prompt) => {
      const { content, finishReason } = say(options);
      const parts = content.flatMap((part) => (part.type === 'text' ? textParts(part.text) : [part]));
      const all = [
        { type: 'stream-start', warnings: [] },
        ...parts,
        { type: 'finish', finishReason, usage: USAGE },
      ];
      return { stream: streamOf(all) };
    },
  });
}

/** What the model reads of a result: a text, or JSON. */
function textOf(output: unknown): string {
  const { value } = output as { readonly value: unknown };
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type Content =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'tool-call';
      readonly toolCallId: string;
      readonly toolName: string;
      readonly input: string;
    };

function contentOf(turn: Turn, asked: number) {
  const content: Content[] =
    typeof turn === 'string'
      ? [{ type: 'text', text: turn }]
      : turn.map(({ tool, args = {} }, index) => ({
          type: 'tool-call',
          toolCallId: `asked-${asked + index + 1}`,
          toolName: tool,
          input: JSON.stringify(args),
        }));
  const finishReason = { unified: typeof turn === 'string' ? 'stop' : 'tool-calls', raw: undefined };
  return { content, finishReason };
}

function streamOf(parts: readonly object[]): ReadableStream<object> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

function textParts(text: string): object[] {
  return [
    { type: 'text-start', id: 'answer' },
    { type: 'text-delta', id: 'answer', delta: text },
    { type: 'text-end', id: 'answer' },
  ];
}

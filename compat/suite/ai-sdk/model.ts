import type { Script, Turn } from '../harness.ts';

/** What of the package `ai` is used. */
export interface AiSdk {
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  readonly [name: string]: any;
}

/** One version of it, with what has another name in the other. */
export interface Version {
  readonly ai: AiSdk;
  /** `MockLanguageModelV3` or `MockLanguageModelV4`. */
  readonly Model: new (
    options: object,
  ) => object;
  /** `stepCountIs` or `isStepCount`. */
  readonly stepCountIs: (count: number) => unknown;
}

/** What the scenarios ask of the conversations of a model. */
export interface Conversation {
  turns: number;
  told: readonly string[];
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

/** A model that says what the script says, and remembers what it was told. */
export function modelOf(
  { Model }: Pick<Version, 'Model'>,
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

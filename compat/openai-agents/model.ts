import { type Model, type ModelRequest, type protocol, Usage } from '@openai/agents';
import type { Script, Turn } from '../suite/harness.ts';

/** What the scenarios ask of the conversations of a model. */
export interface Conversation {
  turns: number;
  told: readonly string[];
}

type Output = (protocol.AssistantMessageItem | protocol.FunctionCallItem)[];

/** A model that says what the script says, and remembers what it was told. */
export function modelOf(script: Script, conversation: Conversation = { turns: 0, told: [] }): Model {
  const say = ({ input }: ModelRequest): Output => {
    const items = typeof input === 'string' ? [] : input;
    const told = items.flatMap((item) => (item.type === 'function_call_result' ? [textOf(item.output)] : []));
    const spoken = items.filter(
      ({ type }, index) => type === 'function_call' && items[index - 1]?.type !== 'function_call',
    );
    conversation.turns += 1;
    conversation.told = told;
    return outputOf(script(spoken.length, told), told.length);
  };
  const usage = { requests: 1, inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  return {
    getResponse: async (request) => ({ usage: new Usage(usage), output: say(request) }),
    async *getStreamedResponse(request): AsyncGenerator<protocol.StreamEvent> {
      const output = say(request);
      yield { type: 'response_started' };
      for (const item of output) {
        if (item.type === 'message') yield { type: 'output_text_delta', delta: textOf(item.content) };
      }
      yield { type: 'response_done', response: { id: `response-${conversation.turns}`, usage, output } };
    },
  };
}

function outputOf(turn: Turn, asked: number): Output {
  if (typeof turn === 'string') {
    return [
      {
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: turn }],
      },
    ];
  }
  return turn.map(({ tool, args = {} }, index) => ({
    type: 'function_call',
    callId: `asked-${asked + index + 1}`,
    name: tool,
    arguments: JSON.stringify(args),
    status: 'completed',
  }));
}

/** What the model reads of a result: a text, or parts. */
function textOf(output: unknown): string {
  if (typeof output === 'string') return output;
  if (Array.isArray(output)) return output.map(textOf).join();
  return String((output as { readonly text?: unknown }).text);
}

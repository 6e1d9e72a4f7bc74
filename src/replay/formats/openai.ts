import { fieldsOf, listOf, nameOf } from '../json.ts';
import { type ChatCall, type ChatResult, chatFormat, type Message } from './chat.ts';

/**
 * Chat messages as the OpenAI API takes them: each entry of an assistant message's `tool_calls` is a call, and the
 * `tool` message with its `tool_call_id` is the result; or, as it once was, `function_call` and a `function` message.
 */
export const openai = chatFormat({
  name: 'openai',
  description: 'OpenAI chat messages: an array, { messages }, an array of such, or JSON lines',
  calls(message) {
    const legacy = fieldsOf<'name' | 'arguments'>(message.function_call);
    const calls = listOf(message.tool_calls).map(toCall);
    return legacy === undefined
      ? calls
      : [...calls, { id: undefined, tool: nameOf(legacy.name), args: parsed(legacy.arguments) }];
  },
  results(message): readonly ChatResult[] {
    const ok = !saysFailed(textOf(message.content));
    if (message.role === 'tool') return [{ id: nameOf(message.tool_call_id), ok }];
    if (message.role === 'function') return [{ id: undefined, tool: nameOf(message.name), ok }];
    return [];
  },
});

// A tool message has no field for a failure, so its text has to tell. These are the ways in which tools and frameworks
// are seen to say it; a result that says it otherwise counts as a good one.
function saysFailed(text: string): boolean {
  return text.startsWith('Error') || text.startsWith('Tool call timed out.') || text.endsWith('isError=True');
}

function toCall(value: unknown): ChatCall {
  const call = fieldsOf<'id' | 'function' | 'custom'>(value);
  const asked = fieldsOf<'name' | 'arguments' | 'input'>(call?.function ?? call?.custom);
  return { id: nameOf(call?.id), tool: nameOf(asked?.name), args: parsed(asked?.arguments ?? asked?.input) };
}

// The arguments are JSON in a string, as far as the model kept to it.
function parsed(args: unknown): unknown {
  if (typeof args !== 'string') return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

function textOf(content: Message['content']): string {
  if (typeof content === 'string') return content;
  const parts = listOf(content).map((part) => fieldsOf<'text'>(part)?.text);
  return parts.filter((text) => typeof text === 'string').join('');
}

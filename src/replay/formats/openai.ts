import { fieldsOf, listOf, nameOf } from '../json.ts';
import { chatFormat } from './chat.ts';
import type { ChatCall, ChatResult, ChatTurn } from './conversation.ts';
import { parsed, saysFailed } from './results.ts';
import { type RoleMessage, roleDialect } from './roles.ts';

/**
 * Chat messages as the OpenAI API takes them: each entry of an assistant message's `tool_calls` is a call, and the
 * `tool` message with its `tool_call_id` is the result; or, as it once was, `function_call` and a `function` message.
 */
export const openai = chatFormat(
  roleDialect({
    name: 'openai',
    description: 'OpenAI chat messages: an array, { messages }, an array of such, or JSON lines',
    fields: ['messages', 'traj'],
    turns: (message) => [openaiTurn(message)],
  }),
);

/** What a message says of tool calls. */
export function openaiTurn(message: RoleMessage): ChatTurn {
  return { fromModel: message.role === 'assistant', calls: callsOf(message), results: resultsOf(message) };
}

function callsOf(message: RoleMessage): readonly ChatCall[] {
  const calls = openaiCalls(message.tool_calls);
  const legacy = fieldsOf<'name' | 'arguments'>(message.function_call);
  if (legacy === undefined) return calls;
  return [...calls, { id: undefined, tool: nameOf(legacy.name), args: parsed(legacy.arguments) }];
}

function resultsOf({ role, content, tool_call_id, name }: RoleMessage): readonly ChatResult[] {
  if (role === 'tool') return [{ id: nameOf(tool_call_id), ok: !saysFailed(content) }];
  if (role === 'function') return [{ id: undefined, tool: nameOf(name), ok: !saysFailed(content) }];
  return [];
}

/** The calls in the `tool_calls` of a message. */
export function openaiCalls(entries: unknown): readonly ChatCall[] {
  return listOf(entries).map((entry) => {
    const call = fieldsOf<'id' | 'function' | 'custom'>(entry);
    const asked = fieldsOf<'name' | 'arguments' | 'input'>(call?.function ?? call?.custom);
    return {
      id: nameOf(call?.id),
      tool: nameOf(asked?.name),
      args: parsed(asked?.arguments ?? asked?.input),
    };
  });
}

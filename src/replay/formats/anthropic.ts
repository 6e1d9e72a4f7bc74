import { fieldsOf, listOf, nameOf } from '../json.ts';
import { chatFormat } from './chat.ts';
import type { ChatCall, ChatResult, ChatTurn } from './conversation.ts';
import { type RoleMessage, roleDialect } from './roles.ts';

/** Messages as the Anthropic API takes them: `tool_use` blocks are calls, `tool_result` blocks are results. */
export const anthropic = chatFormat(
  roleDialect({
    name: 'anthropic',
    description: 'Anthropic messages: an array, { messages }, an array of such, or JSON lines',
    fields: ['messages', 'traj'],
    turns: (message) => [anthropicTurn(message)],
  }),
);

/** What a message says of tool calls. */
export function anthropicTurn({ role, content }: RoleMessage): ChatTurn {
  return { fromModel: role === 'assistant', calls: toolUses(content), results: toolResults(content) };
}

/** The calls among the blocks of a message's content, in order. */
export function toolUses(content: unknown): readonly ChatCall[] {
  const blocks = listOf(content).map((block) => fieldsOf<'type' | 'id' | 'name' | 'input'>(block));
  return blocks
    .filter((block) => block?.type === 'tool_use')
    .map((block) => ({ id: nameOf(block?.id), tool: nameOf(block?.name), args: block?.input }));
}

/** The results among the blocks of a message's content, in order. */
export function toolResults(content: unknown): readonly ChatResult[] {
  const blocks = listOf(content).map((block) => fieldsOf<'type' | 'tool_use_id' | 'is_error'>(block));
  return blocks
    .filter((block) => block?.type === 'tool_result')
    .map((block) => ({ id: nameOf(block?.tool_use_id), ok: block?.is_error !== true }));
}

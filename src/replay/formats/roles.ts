import type { Likelihood } from '../format.ts';
import { type Fields, fieldsOf, listOf } from '../json.ts';
import type { ChatDialect } from './chat.ts';
import type { ChatTurn } from './conversation.ts';

/** A message that names who speaks as its `role`. */
export type RoleMessage = Fields<
  'role' | 'content' | 'parts' | 'tool_calls' | 'function_call' | 'tool_call_id' | 'name'
>;

type RoleFormat = 'openai' | 'anthropic' | 'ai-sdk';

/**
 * A dialect of messages with roles. Several vendors write them, and differ in the words for tool calls only: a message
 * without any may be of all of them.
 */
export function roleDialect(dialect: {
  readonly name: RoleFormat;
  readonly description: string;
  readonly fields: readonly string[];
  turns(message: RoleMessage): readonly ChatTurn[];
}): ChatDialect {
  const { name, description, fields } = dialect;
  return {
    name,
    description,
    fields,
    judge(value): Likelihood {
      if (!isRoleMessage(value)) return 'no';
      const words = roleWords(value);
      return words === undefined ? 'maybe' : words === name ? 'yes' : 'no';
    },
    turns: (value) => (isRoleMessage(value) ? dialect.turns(value) : undefined),
    otherWords(value) {
      const words = roleWords(value);
      return words === name ? undefined : words;
    },
  };
}

/** The format whose words for tool calls a message with a role uses; `undefined` when it is about none. */
export function roleWords(message: unknown): RoleFormat | undefined {
  if (!isRoleMessage(message)) return undefined;
  const types = typesOf(message.content);
  if (hasParts(message) || types.some((type) => AI_SDK_BLOCKS.has(type))) return 'ai-sdk';
  if (message.role === 'tool' || message.role === 'function') return 'openai';
  if (listOf(message.tool_calls).length > 0 || fieldsOf(message.function_call)) return 'openai';
  return types.includes('tool_use') || types.includes('tool_result') ? 'anthropic' : undefined;
}

const AI_SDK_BLOCKS: ReadonlySet<unknown> = new Set([
  'tool-call',
  'tool-result',
  'tool-error',
  'tool-approval-request',
  'tool-approval-response',
]);

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function']);

/** Whether the value is a message that names who speaks. */
export function isRoleMessage(value: unknown): value is RoleMessage {
  const message = fieldsOf<keyof RoleMessage>(value);
  if (message === undefined || !ROLES.has(message.role)) return false;
  return 'content' in message || 'tool_calls' in message || 'function_call' in message || hasParts(message);
}

function hasParts(message: RoleMessage): boolean {
  return typesOf(message.parts).some((type) => typeof type === 'string');
}

function typesOf(blocks: unknown): readonly unknown[] {
  return listOf(blocks).map((block) => fieldsOf<'type'>(block)?.type);
}

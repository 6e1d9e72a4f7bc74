import { type Fields, fieldsOf, listOf, nameOf } from '../json.ts';
import { chatFormat } from './chat.ts';
import type { ChatCall, ChatResult, ChatTurn } from './conversation.ts';
import { type RoleMessage, roleDialect } from './roles.ts';

/**
 * Messages of the AI SDK: those that a model is given, where `tool-call` blocks are calls and `tool-result` blocks are
 * results; and those that a user interface is given, where a part of a message is a call with its state, and a
 * `step-start` part begins a turn. What the provider of the model runs by itself is no call.
 */
export const aiSdk = chatFormat(
  roleDialect({
    name: 'ai-sdk',
    description: 'messages of the AI SDK, for models and for user interfaces',
    fields: ['messages'],
    turns(message) {
      const steps = message.parts === undefined ? [message.content] : stepsOf(message.parts);
      return steps.map((blocks) => turnOf(message, blocks));
    },
  }),
);

type Block = Fields<
  | 'type'
  | 'state'
  | 'toolCallId'
  | 'toolName'
  | 'input'
  | 'args'
  | 'rawInput'
  | 'output'
  | 'isError'
  | 'preliminary'
  | 'providerExecuted'
>;

function stepsOf(parts: RoleMessage['parts']): readonly unknown[][] {
  const steps: unknown[][] = [[]];
  for (const part of listOf(parts)) {
    if (fieldsOf<'type'>(part)?.type === 'step-start') steps.push([]);
    else steps.at(-1)?.push(part);
  }
  return steps.filter(({ length }) => length > 0);
}

function turnOf({ role }: RoleMessage, content: unknown): ChatTurn {
  const calls: ChatCall[] = [];
  const results: ChatResult[] = [];
  for (const value of listOf(content)) {
    const block = fieldsOf<keyof Block>(value);
    if (block === undefined || typeof block.type !== 'string' || block.providerExecuted === true) continue;
    const id = nameOf(block.toolCallId);
    const asked = calledTool(block, block.type);
    if (asked !== undefined) {
      calls.push({ id, tool: nameOf(asked), args: block.input ?? block.args ?? block.rawInput });
    }
    const ok = howEnded(block);
    if (ok !== undefined) results.push({ id, ok });
  }
  return { fromModel: role === 'assistant', calls, results };
}

// The tool that the block calls: in user interfaces its name is a part of the type, where it is known beforehand.
function calledTool(block: Block, type: string): unknown {
  if (type === 'tool-call' || type === 'dynamic-tool') return block.toolName ?? '';
  return block.state !== undefined && type.startsWith('tool-') ? type.slice('tool-'.length) : undefined;
}

function howEnded(block: Block): boolean | null | undefined {
  switch (block.type === 'tool-result' || block.type === 'tool-error' ? block.type : block.state) {
    case 'tool-result': {
      const output = fieldsOf<'type'>(block.output)?.type;
      if (output === 'execution-denied') return null;
      return output !== 'error-text' && output !== 'error-json' && block.isError !== true;
    }
    case 'output-available':
      return block.preliminary === true ? undefined : true;
    case 'tool-error':
    case 'output-error':
      return false;
    case 'output-denied':
      return null;
    default:
      return undefined;
  }
}

import type { Likelihood } from '../format.ts';
import { type Fields, fieldsOf, listOf, nameOf } from '../json.ts';
import { chatFormat } from './chat.ts';
import type { ChatCall, ChatResult, ChatTurn } from './conversation.ts';
import { parsed, saysFailed } from './results.ts';
import { roleWords } from './roles.ts';

/**
 * Items of OpenAI's Responses API, as they are sent and as the Agents SDK keeps them: a `function_call` is a call, and the
 * `function_call_output` with its `call_id` is the result. So are the calls of shells, computers and custom tools, which
 * the program runs; what OpenAI runs by itself, such as a web search, is no call.
 */
export const responses = chatFormat({
  name: 'openai-responses',
  description: 'items of the OpenAI Responses API and of the OpenAI Agents SDK',
  fields: ['items', 'input', 'output', 'history', 'newItems'],
  inPieces: true,
  judge(value): Likelihood {
    const item = itemOf(value);
    if (item === undefined) return 'no';
    if (typeof item.type !== 'string') return 'maybe';
    // A message of the API says what its blocks are in words of its own.
    if (item.type !== 'message') return 'yes';
    const texts = listOf(item.content).map((block) => fieldsOf<'type'>(block)?.type);
    return texts.some((type) => type === 'input_text' || type === 'output_text') ? 'yes' : 'maybe';
  },
  turns(value) {
    const turn = itemTurn(value);
    return turn === undefined ? undefined : [turn];
  },
  otherWords: (value) => (fieldsOf<'type'>(value)?.type === undefined ? roleWords(value) : undefined),
  // Other logs have fields of these names as well, but no such items in them.
  held({ items, input, output, history, newItems }) {
    const lists = [items, [...listOf(input), ...listOf(output)], history, newItems];
    return lists.find((list) => listOf(list).some((value) => itemOf(value)?.type !== undefined));
  },
});

/** What an item says of tool calls; `undefined` for what is no item. */
export function itemTurn(value: unknown): ChatTurn | undefined {
  const item = itemOf(value);
  return item === undefined ? undefined : turnOf(item);
}

type Item = Fields<
  | 'type'
  | 'role'
  | 'content'
  | 'id'
  | 'call_id'
  | 'callId'
  | 'name'
  | 'arguments'
  | 'input'
  | 'action'
  | 'operation'
  | 'execution'
  | 'output'
  | 'status'
>;

// What the program runs. `mcp_call`, `web_search_call` and the like have run when the response comes.
const CALLS: ReadonlySet<unknown> = new Set([
  'function_call',
  'custom_tool_call',
  'computer_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
]);

const RESULT =
  /^(function|custom_tool|computer|local_shell|shell|apply_patch|tool_search)(_call)?_(output|result)$/;

const OTHERS =
  /^(message|reasoning|compaction|item_reference|hosted_tool_call|mcp_\w+|(web_search|file_search|code_interpreter|image_generation|tool_search)_call)$/;

// An item; the Agents SDK wraps it into one that says which agent it is of.
function itemOf(value: unknown): Item | undefined {
  const wrapper = fieldsOf<'rawItem' | 'raw_item'>(value);
  const item = fieldsOf<keyof Item>(wrapper?.rawItem ?? wrapper?.raw_item ?? value);
  if (item === undefined) return undefined;
  const { type } = item;
  if (type === undefined) return SPEAKERS.has(item.role) && 'content' in item ? item : undefined;
  if (typeof type !== 'string' || (type === 'message' && !SPEAKERS.has(item.role))) return undefined;
  return CALLS.has(type) || RESULT.test(type) || OTHERS.test(type) ? item : undefined;
}

const SPEAKERS: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant']);

function turnOf(item: Item): ChatTurn {
  const type = String(item.type ?? 'message');
  if (RESULT.test(type)) return { fromModel: false, calls: [], results: [resultOf(item)] };
  const fromModel = type === 'message' ? item.role === 'assistant' : type !== 'item_reference';
  const isCall = CALLS.has(type) || (type === 'tool_search_call' && item.execution === 'client');
  return { fromModel, calls: isCall ? [callOf(item, type)] : [], results: [] };
}

function callOf(item: Item, type: string): ChatCall {
  const builtIn =
    type === 'function_call' || type === 'custom_tool_call' ? undefined : type.slice(0, -'_call'.length);
  return {
    id: callId(item),
    tool: nameOf(item.name) ?? builtIn,
    args: parsed(item.arguments ?? item.input ?? item.action ?? item.operation),
  };
}

function resultOf(item: Item): ChatResult {
  const failed = item.status === 'failed' || saysFailed(item.output) || listOf(item.output).some(endedBadly);
  return { id: callId(item), ok: !failed };
}

// A command that a shell ran: what became of it.
function endedBadly(value: unknown): boolean {
  const outcome = fieldsOf<'type' | 'exit_code' | 'exitCode'>(fieldsOf<'outcome'>(value)?.outcome);
  const code = outcome?.exit_code ?? outcome?.exitCode;
  return outcome?.type === 'timeout' || (typeof code === 'number' && code !== 0);
}

function callId(item: Item): string | undefined {
  return nameOf(item.call_id) ?? nameOf(item.callId) ?? nameOf(item.id);
}

import type { Likelihood } from '../format.ts';
import { type Fields, fieldsOf, listOf, nameOf } from '../json.ts';
import { chatFormat } from './chat.ts';
import type { ChatCall, ChatTurn } from './conversation.ts';
import { openaiCalls } from './openai.ts';
import { saysFailed } from './results.ts';

/**
 * Messages of LangChain in each of the ways in which they are written down: as constructors (`lc: 1`), as a type with its
 * `data`, or plain. The `tool_calls` of an AI message are calls, and the tool message with its `tool_call_id` is the
 * result, failed where its `status` says so.
 */
export const langchain = chatFormat({
  name: 'langchain',
  description: 'messages of LangChain and LangGraph, in any serialisation',
  fields: ['messages'],
  judge(value): Likelihood {
    const message = messageOf(value);
    if (message === undefined) return 'no';
    return message.isWrapped || message.kind === 'tool' || 'tool_calls' in message.fields ? 'yes' : 'maybe';
  },
  turns(value) {
    const message = messageOf(value);
    return message === undefined ? undefined : [turnOf(message)];
  },
  // The state of a graph.
  held: ({ messages, values }) => messages ?? fieldsOf<'messages'>(values)?.messages,
});

type MessageFields = Fields<
  'content' | 'name' | 'role' | 'tool_calls' | 'tool_call_id' | 'status' | 'additional_kwargs'
>;

interface Message {
  readonly kind: string;
  readonly fields: MessageFields;
  /** Whether what is around the fields shows that it is a message of LangChain. */
  readonly isWrapped: boolean;
}

const KINDS: ReadonlySet<string> = new Set([
  'human',
  'ai',
  'system',
  'developer',
  'tool',
  'function',
  'chat',
  'generic',
  'remove',
]);

function messageOf(value: unknown): Message | undefined {
  const message = fieldsOf<'lc' | 'type' | 'id' | 'kwargs' | 'data' | 'content'>(value);
  if (message === undefined) return undefined;
  const isConstructor = message.lc === 1 && message.type === 'constructor';
  const kind = kindNamed(isConstructor ? listOf(message.id).at(-1) : message.type);
  if (kind === undefined) return undefined;
  const wrapped = fieldsOf<keyof MessageFields>(isConstructor ? message.kwargs : message.data);
  if (wrapped !== undefined) return { kind, fields: wrapped, isWrapped: true };
  if (isConstructor || !('content' in message)) return undefined;
  return { kind, fields: message as MessageFields, isWrapped: false };
}

// `AIMessage`, `AIMessageChunk` and `ai` are all one kind.
function kindNamed(name: unknown): string | undefined {
  if (typeof name !== 'string') return undefined;
  const kind = name.replace(/Message(Chunk)?$/, '').toLowerCase();
  return KINDS.has(kind) ? kind : undefined;
}

function turnOf({ kind, fields }: Message): ChatTurn {
  const fromModel = kind === 'ai' || (kind === 'chat' && fields.role === 'assistant');
  if (kind !== 'tool' && kind !== 'function') {
    return { fromModel, calls: fromModel ? callsOf(fields) : [], results: [] };
  }
  const { status } = fields;
  const ok = typeof status === 'string' ? status !== 'error' : !saysFailed(fields.content);
  const result = { id: nameOf(fields.tool_call_id), tool: nameOf(fields.name), ok };
  return { fromModel, calls: [], results: [result] };
}

function callsOf({ tool_calls, additional_kwargs }: MessageFields): readonly ChatCall[] {
  // Older messages have the calls only as OpenAI wrote them.
  if (!Array.isArray(tool_calls)) {
    return openaiCalls(fieldsOf<'tool_calls'>(additional_kwargs)?.tool_calls);
  }
  return listOf(tool_calls).map((entry) => {
    const call = fieldsOf<'id' | 'name' | 'args'>(entry);
    return { id: nameOf(call?.id), tool: nameOf(call?.name), args: call?.args };
  });
}

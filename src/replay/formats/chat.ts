import { basename } from 'node:path';
import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, listOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { OpenCalls } from '../open-calls.ts';

/** A message of a conversation. */
export type Message = Fields<'role' | 'content' | 'tool_calls' | 'function_call' | 'tool_call_id' | 'name'>;

/** A tool call as the model asks for it. */
export interface ChatCall {
  readonly id: string | undefined;
  readonly tool: string | undefined;
  readonly args: unknown;
}

/** The result of a call: of the one with that id or, without an id, of the oldest open one of that tool. */
export interface ChatResult {
  readonly id: string | undefined;
  readonly tool?: string | undefined;
  readonly ok: boolean;
}

/** How one vendor writes tool calls into messages. */
export interface ChatDialect {
  readonly name: 'openai' | 'anthropic';
  readonly description: string;
  /** The calls that the message asks for, in order: one turn. */
  calls(message: Message): readonly ChatCall[];
  /** The results that the message hands back. */
  results(message: Message): readonly ChatResult[];
}

/**
 * A format of conversations with a model. What holds a conversation is the same for all vendors: an array of messages;
 * an object with `messages` or `traj`; an array of either; or JSON lines of any of these.
 */
export function chatFormat(dialect: ChatDialect): TraceFormat {
  return {
    name: dialect.name,
    description: dialect.description,
    detect(value): Likelihood {
      const messages = isMessage(value) ? [value] : messagesOf(value);
      if (messages === undefined) return 'no';
      const signs = messages.map(dialectOf).find((name) => name !== undefined);
      if (signs === undefined) return 'maybe';
      return signs === dialect.name ? 'yes' : 'no';
    },
    async *read(source) {
      const file = new ChatFile(dialect, basename(source.name));
      for await (const items of source.values()) yield readItems(items, (item) => file.read(item));
      yield file.end();
    },
  };
}

// Whose words for tool calls the message uses; `undefined` when it is about none.
function dialectOf(value: unknown): ChatDialect['name'] | undefined {
  const message = fieldsOf<'role' | 'content' | 'tool_calls' | 'function_call'>(value);
  if (message === undefined) return undefined;
  if (message.role === 'tool' || message.role === 'function') return 'openai';
  if (listOf(message.tool_calls).length > 0 || fieldsOf(message.function_call)) return 'openai';
  const blocks = listOf(message.content).map((block) => fieldsOf<'type'>(block)?.type);
  return blocks.includes('tool_use') || blocks.includes('tool_result') ? 'anthropic' : undefined;
}

class ChatFile {
  readonly #dialect: ChatDialect;
  readonly #fileName: string;
  #conversations = 0;
  // The conversation whose messages are the values themselves, and the array that holds them.
  #open: { readonly conversation: Conversation; readonly array: number | null } | undefined;

  constructor(dialect: ChatDialect, fileName: string) {
    this.#dialect = dialect;
    this.#fileName = fileName;
  }

  *read({ value, line, array }: JsonValue): Generator<TraceEvent> {
    if (isMessage(value)) {
      if (this.#open?.array !== array) {
        yield* this.end();
        this.#open = { conversation: this.#begin(undefined), array };
        yield this.#open.conversation.begin();
      }
      yield* this.#open.conversation.add(value, line);
      return;
    }
    const messages = messagesOf(value);
    if (messages === undefined) {
      const message = `expected a message, or an object with "messages" or "traj", got ${kindOf(value)}`;
      yield { type: 'fault', message, line };
      return;
    }
    yield* this.end();
    const conversation = this.#begin(runName(value));
    yield conversation.begin();
    for (const message of messages) yield* conversation.add(message, line);
    yield* conversation.end();
  }

  *end(): Generator<TraceEvent> {
    if (this.#open !== undefined) yield* this.#open.conversation.end();
    this.#open = undefined;
  }

  #begin(name: string | undefined): Conversation {
    const index = this.#conversations++;
    const unnamed = index === 0 ? this.#fileName : `${this.#fileName}#${index}`;
    return new Conversation(this.#dialect, `conversation-${index}`, name ?? unnamed);
  }
}

class Conversation {
  readonly #dialect: ChatDialect;
  readonly #run: string;
  readonly #name: string;
  readonly #open = new OpenCalls();
  #warned = false;

  constructor(dialect: ChatDialect, run: string, name: string) {
    this.#dialect = dialect;
    this.#run = run;
    this.#name = name;
  }

  begin(): TraceEvent {
    return { type: 'run.started', run: this.#run, name: this.#name };
  }

  *add(message: unknown, line: number): Generator<TraceEvent> {
    const run = this.#run;
    if (!isMessage(message)) {
      yield {
        type: 'fault',
        message: `expected a message with a role and content, got ${kindOf(message)}`,
        line,
      };
      return;
    }
    const signs = dialectOf(message);
    if (signs !== undefined && signs !== this.#dialect.name && !this.#warned) {
      this.#warned = true;
      const advice = `read the file with --format ${signs}`;
      yield {
        type: 'fault',
        message: `tool calls in the words of ${signs}, which are not counted: ${advice}`,
        line,
      };
    }
    // The next turn begins when the model has seen all results that there are.
    if (message.role === 'assistant') {
      for (const call of this.#open.takeAll()) yield { type: 'call.ended', run, call, ok: null };
    }
    for (const { id, tool, args } of this.#dialect.calls(message)) {
      if (tool === undefined) {
        yield { type: 'fault', message: 'a tool call without the name of the tool', line };
        continue;
      }
      const call = this.#open.add(id, tool);
      yield { type: 'call.started', run, call, callId: id, tool, args, line };
    }
    for (const { id, tool, ok } of this.#dialect.results(message)) {
      // A result of no open call belongs to a call before the beginning of the recording.
      const call = this.#open.take(id, tool);
      if (call !== undefined) yield { type: 'call.ended', run, call, ok };
    }
  }

  *end(): Generator<TraceEvent> {
    yield { type: 'run.ended', run: this.#run };
  }
}

const ROLES: readonly unknown[] = ['system', 'developer', 'user', 'assistant', 'tool', 'function'];

function isMessage(value: unknown): value is Message {
  const message = fieldsOf<'role' | 'content' | 'tool_calls' | 'function_call'>(value);
  if (message === undefined || !ROLES.includes(message.role)) return false;
  return 'content' in message || 'tool_calls' in message || 'function_call' in message;
}

// The messages of a whole conversation in one value.
function messagesOf(value: unknown): readonly unknown[] | undefined {
  const record = fieldsOf<'messages' | 'traj'>(value);
  const messages = record === undefined ? value : (record.messages ?? record.traj);
  return Array.isArray(messages) && (messages.length === 0 || messages.some(isMessage))
    ? messages
    : undefined;
}

function runName(value: unknown): string | undefined {
  const record = fieldsOf<'task_id' | 'trial' | 'id' | 'run_id' | 'conversation_id' | 'session_id'>(value);
  const task = nameOf(record?.task_id);
  const trial = nameOf(record?.trial);
  if (task !== undefined) return trial === undefined ? task : `t${task}.${trial}`;
  return [record?.id, record?.run_id, record?.conversation_id, record?.session_id].map(nameOf).find(Boolean);
}

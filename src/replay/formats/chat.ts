import { basename } from 'node:path';
import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { type Fields, fieldsOf, kindOf, nameOf } from '../json.ts';
import type { JsonValue } from '../json-values.ts';
import { type ChatTurn, Conversation } from './conversation.ts';

/** How a vendor or a framework writes the messages of a conversation. */
export interface ChatDialect {
  readonly name: string;
  readonly description: string;
  /** The fields of an object that may hold the messages of a conversation, the first that is there. */
  readonly fields: readonly string[];
  /** Whether one turn of the model comes as several messages. */
  readonly inPieces?: boolean;
  /** Whether the value is a message of this dialect; `maybe` where it says nothing of tools, and others write it so too. */
  judge(value: unknown): Likelihood;
  /** What the message says of tool calls; `undefined` for what is no message. */
  turns(value: unknown): readonly ChatTurn[] | undefined;
  /** The format whose words for tool calls the message uses, if that is another. */
  otherWords?(value: unknown): string | undefined;
  /** The messages that the object holds, where that is not just the first of `fields` that is there. */
  held?(record: Fields<string>): unknown;
}

/**
 * A format of conversations with a model. What holds a conversation is the same for all vendors: an array of messages;
 * an object with the messages; an array of either; or JSON lines of any of these.
 */
export function chatFormat(dialect: ChatDialect): TraceFormat {
  return {
    name: dialect.name,
    description: dialect.description,
    detect(value): Likelihood {
      const messages = dialect.turns(value) === undefined ? messagesOf(value, dialect) : [value];
      if (messages === undefined) return 'no';
      for (const message of messages) {
        // What is no message says nothing of the others.
        const judged = dialect.turns(message) === undefined ? 'maybe' : dialect.judge(message);
        if (judged !== 'maybe') return judged;
      }
      return 'maybe';
    },
    async *read(source) {
      const file = new ChatFile(dialect, basename(source.name));
      for await (const items of source.values()) yield readItems(items, (item) => file.read(item));
      yield file.end();
    },
  };
}

// A conversation that is read, and whether it was said that its words are another format's.
interface OpenConversation {
  readonly conversation: Conversation;
  /** The array whose elements its messages are, if they are the values themselves. */
  readonly array: number | null;
  warned: boolean;
}

class ChatFile {
  readonly #dialect: ChatDialect;
  readonly #fileName: string;
  #conversations = 0;
  // The conversation whose messages are the values themselves.
  #open: OpenConversation | undefined;

  constructor(dialect: ChatDialect, fileName: string) {
    this.#dialect = dialect;
    this.#fileName = fileName;
  }

  *read({ value, line, array }: JsonValue): Generator<TraceEvent> {
    const turns = this.#dialect.turns(value);
    if (turns !== undefined) {
      if (this.#open?.array !== array) {
        yield* this.end();
        this.#open = this.#begin(undefined, array);
        yield this.#open.conversation.begin();
      }
      yield* this.#add(this.#open, value, turns, line);
      return;
    }
    const messages = messagesOf(value, this.#dialect);
    if (messages === undefined) {
      const fields = this.#dialect.fields.map((field) => `"${field}"`).join(' or ');
      const message = `expected a message, or an object with ${fields}, got ${kindOf(value)}`;
      yield { type: 'fault', message, line };
      return;
    }
    yield* this.end();
    const open = this.#begin(runName(value), null);
    yield open.conversation.begin();
    for (const message of messages) yield* this.#add(open, message, this.#dialect.turns(message), line);
    yield open.conversation.end();
  }

  *end(): Generator<TraceEvent> {
    if (this.#open !== undefined) yield this.#open.conversation.end();
    this.#open = undefined;
  }

  *#add(
    open: OpenConversation,
    value: unknown,
    turns: readonly ChatTurn[] | undefined,
    line: number,
  ): Generator<TraceEvent> {
    if (turns === undefined) {
      yield {
        type: 'fault',
        message: `expected a message with a role and content, got ${kindOf(value)}`,
        line,
      };
      return;
    }
    const other = open.warned ? undefined : this.#dialect.otherWords?.(value);
    if (other !== undefined) {
      open.warned = true;
      const advice = `read the file with --format ${other}`;
      yield {
        type: 'fault',
        message: `tool calls in the words of ${other}, which are not counted: ${advice}`,
        line,
      };
    }
    for (const turn of turns) yield* open.conversation.add(turn, line);
  }

  #begin(name: string | undefined, array: number | null): OpenConversation {
    const index = this.#conversations++;
    const unnamed = index === 0 ? this.#fileName : `${this.#fileName}#${index}`;
    const { inPieces } = this.#dialect;
    return {
      conversation: new Conversation(`conversation-${index}`, name ?? unnamed, inPieces),
      array,
      warned: false,
    };
  }
}

// The messages of a whole conversation in one value.
function messagesOf(value: unknown, dialect: ChatDialect): readonly unknown[] | undefined {
  const record = fieldsOf<string>(value);
  const held = dialect.held ?? ((fields: Fields<string>) => firstField(fields, dialect));
  const messages = record === undefined ? value : held(record);
  if (!Array.isArray(messages)) return undefined;
  const isConversation =
    messages.length === 0 || messages.some((message) => dialect.turns(message) !== undefined);
  return isConversation ? (messages as readonly unknown[]) : undefined;
}

function firstField(record: Fields<string>, { fields }: ChatDialect): unknown {
  const field = fields.find((name) => record[name] !== undefined && record[name] !== null);
  return field === undefined ? undefined : record[field];
}

function runName(value: unknown): string | undefined {
  const record = fieldsOf<
    'task_id' | 'trial' | 'id' | 'run_id' | 'conversation_id' | 'session_id' | 'thread_id'
  >(value);
  const task = nameOf(record?.task_id);
  const trial = nameOf(record?.trial);
  if (task !== undefined) return trial === undefined ? task : `t${task}.${trial}`;
  const { id, run_id, conversation_id, session_id, thread_id } = record ?? {};
  return [id, run_id, conversation_id, session_id, thread_id].map(nameOf).find(Boolean);
}

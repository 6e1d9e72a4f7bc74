import { basename } from 'node:path';
import { type Likelihood, readItems, type TraceEvent, type TraceFormat } from '../format.ts';
import { fieldsOf, kindOf, listOf } from '../json.ts';
import { anthropicTurn } from './anthropic.ts';
import { type ChatCall, type ChatTurn, Conversation } from './conversation.ts';
import { openaiTurn } from './openai.ts';
import { itemTurn } from './responses.ts';
import { parsed } from './results.ts';
import { isRoleMessage, roleWords } from './roles.ts';
import { readYamlCassette } from './vcr-yaml.ts';

/**
 * Cassettes of VCR, YAML or JSON: what a program said to a model's API and was answered, one exchange after the other, in
 * the words of OpenAI (chat or responses) or of Anthropic. A cassette is a run. What a response asks for is a call, and
 * what the request after it hands back is the result.
 */
export const vcr: TraceFormat = {
  name: 'vcr',
  description: 'VCR cassettes of exchanges with OpenAI or Anthropic (YAML or JSON)',
  // The names of a cassette's fields are written in their order, so its exchanges come first, or after its version.
  detectHead: (head) => CASSETTE.test(new TextDecoder().decode(head.subarray(0, 4096))),
  detect: (value): Likelihood => (exchangesIn(value) === undefined ? 'no' : 'yes'),
  async *read(source) {
    const cassette = new Cassette(basename(source.name));
    if (isJson(source.head)) {
      for await (const items of source.values()) {
        yield readItems(items, ({ value, line }) => cassette.readAll(value, line));
      }
    } else {
      for await (const { exchange, line, fault } of readYamlCassette(source.text())) {
        yield fault === undefined ? cassette.read(exchange, line) : [{ type: 'fault', message: fault, line }];
      }
    }
    yield cassette.end();
  },
};

const CASSETTE = /^\uFEFF?(?:(?:---|#|version:)[^\n]*\n|[ \t\r]*\n)*interactions:[ \t\r]*\n/;

function isJson(head: Uint8Array): boolean {
  return /^\uFEFF?\s*[{[]/.test(new TextDecoder().decode(head.subarray(0, 64)));
}

function exchangesIn(value: unknown): readonly unknown[] | undefined {
  const exchanges = fieldsOf<'interactions'>(value)?.interactions;
  if (!Array.isArray(exchanges)) return undefined;
  const isCassette = exchanges.some((exchange) => 'request' in (fieldsOf<'request'>(exchange) ?? {}));
  return isCassette ? (exchanges as readonly unknown[]) : undefined;
}

class Cassette {
  readonly #conversation: Conversation;
  #begun = false;
  // What the last response asked for.
  #asked: readonly ChatCall[] = [];
  // The line of the last response, if that could not be read: the next request may tell what it said.
  #unread: number | undefined;

  constructor(fileName: string) {
    this.#conversation = new Conversation('cassette', fileName, true);
  }

  *readAll(value: unknown, line: number): Generator<TraceEvent> {
    const exchanges = exchangesIn(value);
    if (exchanges === undefined) {
      yield { type: 'fault', message: `expected an object with "interactions", got ${kindOf(value)}`, line };
      return;
    }
    for (const exchange of exchanges) yield* this.read(exchange, line);
  }

  *read(value: unknown, line: number): Generator<TraceEvent> {
    const exchange = fieldsOf<'request' | 'response'>(value);
    if (exchange?.request === undefined) {
      yield { type: 'fault', message: `expected an exchange with a "request", got ${kindOf(value)}`, line };
      return;
    }
    const history = historyIn(bodyOf(exchange.request));
    const response = bodyOf(exchange.response);
    const turns = turnsIn(response);
    const isUnread = typeof response === 'string' && response !== '';
    // An exchange with something else than a model that is asked for its next turn.
    if (history === undefined || (history.length === 0 && turns.length === 0 && !isUnread)) return;
    yield* this.#begin();
    yield* this.#readRequest(history, line);
    this.#unread = isUnread ? line : undefined;
    this.#asked = turns.flatMap(({ calls }) => calls);
    for (const turn of turns) yield* this.#conversation.add(turn, line);
  }

  *end(): Generator<TraceEvent> {
    if (this.#unread !== undefined) {
      const message = 'the last response is no JSON, so that calls that it asks for are not counted';
      yield { type: 'fault', message, line: this.#unread };
    }
    yield* this.#begin();
    yield this.#conversation.end();
  }

  *#begin(): Generator<TraceEvent> {
    if (!this.#begun) yield this.#conversation.begin();
    this.#begun = true;
  }

  // A request says all that was said before. What is new comes after what the model said last.
  *#readRequest(history: readonly ChatTurn[], line: number): Generator<TraceEvent> {
    const end = history.findLastIndex(({ fromModel }) => fromModel) + 1;
    const start = history.findLastIndex(({ fromModel }, index) => index < end && !fromModel) + 1;
    const said = history.slice(start, end);
    if (this.#unread !== undefined) for (const turn of said) yield* this.#conversation.add(turn, line);
    const ids = idsAsAsked(
      this.#asked,
      said.flatMap(({ calls }) => calls),
    );
    const results = history
      .slice(end)
      .flatMap((turn) => turn.results)
      .map((result) => ({ ...result, id: ids.get(result.id) ?? result.id }));
    yield* this.#conversation.add({ fromModel: false, calls: [], results }, line);
  }
}

// A program may give calls ids of its own when it tells the model of them again: which id stands for which.
function idsAsAsked(asked: readonly ChatCall[], told: readonly ChatCall[]) {
  const known = new Set(told.map(({ id }) => id));
  const missing = asked.filter(({ id }) => !known.has(id)).values();
  const own = new Set(asked.map(({ id }) => id));
  const ids = new Map<string | undefined, string | undefined>();
  for (const { id } of told) {
    if (!own.has(id)) ids.set(id, missing.next().value?.id);
  }
  return ids;
}

// A body is there as it came, in a field of its own, or read as JSON.
function bodyOf(message: unknown): unknown {
  const fields = fieldsOf<'parsed_body' | 'body'>(message);
  if (fields?.parsed_body !== undefined) return fields.parsed_body;
  return parsed(fieldsOf<'string'>(fields?.body)?.string ?? fields?.body);
}

// What the request tells of the conversation; `undefined` for what is no request to a model.
function historyIn(body: unknown): readonly ChatTurn[] | undefined {
  const { messages, input, model } = fieldsOf<'messages' | 'input' | 'model'>(body) ?? {};
  if (Array.isArray(messages)) return listOf(messages).flatMap(messageTurn);
  if (model === undefined || input === undefined) return undefined;
  return listOf(input).flatMap((item) => itemTurn(item) ?? []);
}

function turnsIn(body: unknown): readonly ChatTurn[] {
  const { choices, output, role } = fieldsOf<'choices' | 'output' | 'role'>(body) ?? {};
  if (role === 'assistant') return messageTurn(body);
  if (Array.isArray(output)) return listOf(output).flatMap((item) => itemTurn(item) ?? []);
  return messageTurn(fieldsOf<'message'>(listOf(choices)[0])?.message);
}

function messageTurn(message: unknown): readonly ChatTurn[] {
  if (!isRoleMessage(message)) return [];
  return [roleWords(message) === 'anthropic' ? anthropicTurn(message) : openaiTurn(message)];
}

/** What processes send: batches of events, each with a number, so that none is taken twice and a gap is seen. */
import { PROTOCOL_VERSION, type Taken } from './protocol.ts';
import { Refused } from './refused.ts';
import type { RunStore, Source } from './store.ts';
import { type TidyEvent, tidyEvent } from './tidy-event.ts';

const SENDERS_KEPT = 1_000;
const NAME_LIMIT = 200;

/** The processes that send. */
export class Senders {
  readonly #store: RunStore;
  readonly #senders = new Map<string, Sender>();

  constructor(store: RunStore) {
    this.#store = store;
  }

  /**
   * Takes a batch: all of it, or nothing.
   *
   * @param body Its lines: a head, and the events.
   * @throws {Refused}
   */
  take(body: string): Taken {
    const lines = body.split('\n').filter((line) => line.trim() !== '');
    const [head, ...values] = lines.map(parse);
    const { source, name, first } = readHead(head);
    const events = values.map(readEvent);
    const sender = this.#senderOf(source, name);
    // What has come before was answered, and the answer got lost.
    const known = Math.max(0, Math.min(events.length, sender.next - first));
    this.#store.lose(sender.source, Math.max(0, first - sender.next));
    for (let index = known; index < events.length; index++) {
      const event = events[index] as TidyEvent;
      this.#store.take(sender.source, event, event === values[index] ? lines[index + 1] : undefined);
    }
    sender.next = Math.max(sender.next, first + events.length);
    return { next: sender.next };
  }

  // A server that is left on sees many processes come and go: that which has been silent for longest is forgotten.
  #senderOf(id: string, name: string): Sender {
    const sender = this.#senders.get(id) ?? { source: this.#store.addSource(name), next: 0 };
    this.#senders.delete(id);
    this.#senders.set(id, sender);
    const [oldest = id] = this.#senders.keys();
    if (this.#senders.size > SENDERS_KEPT) {
      this.#store.removeSource(this.#senders.get(oldest)?.source);
      this.#senders.delete(oldest);
    }
    return sender;
  }
}

interface Sender {
  readonly source: Source;
  next: number;
}

function parse(line: string, index: number): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw malformed(`Line ${index + 1} is no JSON`);
  }
}

function readHead(head: unknown): { readonly source: string; readonly name: string; readonly first: number } {
  const { version, source, name, first } = Object(head) as Readonly<Record<string, unknown>>;
  if (version !== PROTOCOL_VERSION) {
    throw new Refused(
      400,
      'wrong-version',
      `The first line must have "version": ${PROTOCOL_VERSION}. Use the same version of phasegate on both sides`,
    );
  }
  if (!isName(source)) throw malformed('"source" must be a name');
  if (!isName(name)) throw malformed('"name" must be a name');
  if (!Number.isSafeInteger(first) || (first as number) < 0) {
    throw malformed('"first" must be a whole number of 0 or more');
  }
  return { source, name, first: first as number };
}

function readEvent(value: unknown, index: number): TidyEvent {
  const event = tidyEvent(value);
  if (event === undefined) throw malformed(`Line ${index + 2} is no event: it needs a "type" and a "run"`);
  return event;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= NAME_LIMIT;
}

function malformed(what: string): Refused {
  return new Refused(400, 'malformed', `${what}. A batch has one JSON value a line: a head, then events`);
}

import type { TraceSource } from './format.ts';
import { type JsonItem, JsonSplitter } from './json-values.ts';
import { decodeText } from './text.ts';

/** A source whose first values can be looked at before it is read, to find out its format. */
export class PeekableSource implements TraceSource {
  readonly name: string;
  readonly head: Uint8Array;
  readonly #bytes: AsyncIterator<Uint8Array>;
  // What looking ahead has consumed: as bytes, for a format that reads those, and as values.
  #seenBytes: Uint8Array[] = [];
  #bytesSeen = 0;
  readonly #seenValues: (readonly JsonItem[])[] = [];
  readonly #splitter = new JsonSplitter();
  readonly #values: AsyncGenerator<readonly JsonItem[]>;
  #looking = true;

  constructor(name: string, bytes: AsyncIterable<Uint8Array>, head: Uint8Array = new Uint8Array(0)) {
    this.name = name;
    this.head = head;
    this.#bytes = bytes[Symbol.asyncIterator]();
    this.#values = splitValues(this.#splitter, decodeText(this.#consume()));
  }

  /** The values from the first, which will be read again. Stop when enough were seen. */
  async *peek(): AsyncGenerator<readonly JsonItem[]> {
    for (let next = await this.#values.next(); !next.done; next = await this.#values.next()) {
      this.#seenValues.push(next.value);
      yield next.value;
    }
  }

  /** How many bytes were consumed to look ahead. */
  get bytesSeen(): number {
    return this.#bytesSeen;
  }

  /** Nothing more will be read. */
  async close(): Promise<void> {
    await this.#bytes.return?.();
  }

  async *values(leaveOut?: (line: string) => boolean): AsyncGenerator<readonly JsonItem[]> {
    this.#looking = false;
    this.#seenBytes = [];
    this.#splitter.leaveOut = leaveOut;
    yield* this.#seenValues.splice(0);
    yield* this.#values;
  }

  text(): AsyncIterable<string> {
    return decodeText(this.bytes());
  }

  async *bytes(): AsyncGenerator<Uint8Array> {
    this.#looking = false;
    yield* this.#seenBytes.splice(0);
    yield* this.#consume();
  }

  async *#consume(): AsyncGenerator<Uint8Array> {
    for (let next = await this.#bytes.next(); !next.done; next = await this.#bytes.next()) {
      if (this.#looking) {
        this.#seenBytes.push(next.value);
        this.#bytesSeen += next.value.length;
      }
      yield next.value;
    }
  }
}

async function* splitValues(
  splitter: JsonSplitter,
  text: AsyncIterable<string>,
): AsyncGenerator<readonly JsonItem[]> {
  for await (const piece of text) yield splitter.push(piece);
  yield splitter.end();
}

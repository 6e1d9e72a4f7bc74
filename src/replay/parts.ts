import { lookAhead } from './head.ts';
import { fieldsOf, nameOf } from './json.ts';
import { openTrace, type TraceStream } from './open-file.ts';

/** Which part of which audit log a file is, as its first line says. */
interface Part {
  readonly log: string;
  readonly part: number;
}

/** A line of a file. */
export interface Place {
  readonly file: string;
  readonly line: number;
}

/** A recording, which may stand in several files. */
export interface JoinedStream extends TraceStream {
  /** Where a line of it stands. */
  place(line: number): Place;
}

// The first line of an audit log is shorter.
const HEAD_BYTES = 1024;
const NEWLINE = 10;

/**
 * Joins files that are parts of one audit log, and come one after the other: a run may begin in one of them and end in the next.
 * All other files stay as they are.
 */
export async function* joinParts(
  files: Iterable<string | TraceStream> | AsyncIterable<string | TraceStream>,
): AsyncGenerator<JoinedStream> {
  const rest = Symbol.asyncIterator in files ? files[Symbol.asyncIterator]() : files[Symbol.iterator]();
  let ahead: Opened | undefined;
  const next = async (): Promise<Opened | undefined> => {
    const { value, done } = await rest.next();
    return done === true ? undefined : open(value as string | TraceStream);
  };
  for (let first = await next(); first !== undefined; first = ahead ?? (await next())) {
    ahead = undefined;
    const joined = new Joined(first, async (part) => {
      const following = await next();
      if (following !== undefined && follows(await following.part(), part)) return following;
      ahead = following;
      return undefined;
    });
    yield joined;
  }
}

interface Opened {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  part(): Promise<Part | undefined>;
}

function open(file: string | TraceStream): Opened {
  const { name, bytes } = openTrace(file);
  let head: ReturnType<typeof lookAhead> | undefined;
  const looked = () => {
    head ??= lookAhead(bytes, HEAD_BYTES);
    return head;
  };
  return {
    name,
    bytes: {
      async *[Symbol.asyncIterator]() {
        yield* (await looked()).bytes;
      },
    },
    // What cannot be read is told when it is read.
    part: () =>
      looked().then(
        ({ head }) => partOf(head),
        () => undefined,
      ),
  };
}

function partOf(head: Uint8Array): Part | undefined {
  const end = head.indexOf(NEWLINE);
  const line = new TextDecoder().decode(head.subarray(0, end));
  if (end === -1 || !line.includes('"log.opened"')) return undefined;
  try {
    const record = fieldsOf<'log' | 'part'>(JSON.parse(line));
    const log = nameOf(record?.log);
    return log === undefined || typeof record?.part !== 'number' ? undefined : { log, part: record.part };
  } catch {
    return undefined;
  }
}

function follows(next: Part | undefined, part: Part): next is Part {
  return next?.log === part.log && next.part === part.part + 1;
}

class Joined implements JoinedStream {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
  // Each file, and how many lines stand before it.
  readonly #files: { readonly file: string; readonly before: number }[];

  constructor(first: Opened, next: (part: Part) => Promise<Opened | undefined>) {
    this.name = first.name;
    this.#files = [{ file: first.name, before: 0 }];
    this.bytes = { [Symbol.asyncIterator]: () => this.#read(first, next) };
  }

  place(line: number): Place {
    const { file, before } = this.#files.findLast((one) => one.before < line) ?? {
      file: this.name,
      before: 0,
    };
    return { file, line: line - before };
  }

  async *#read(
    first: Opened,
    next: (part: Part) => Promise<Opened | undefined>,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    let part = await first.part();
    if (part === undefined) {
      yield* first.bytes;
      return;
    }
    let lines = 0;
    for (let file: Opened | undefined = first; file !== undefined; ) {
      let last = NEWLINE;
      for await (const bytes of file.bytes) {
        for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines += 1;
        last = bytes.at(-1) ?? last;
        yield bytes;
      }
      const following: Opened | undefined = await next(part);
      if (following === undefined) return;
      // A line that was cut is not to run into the next file.
      if (last !== NEWLINE) {
        lines += 1;
        yield Uint8Array.of(NEWLINE);
      }
      this.#files.push({ file: following.name, before: lines });
      part = { log: part.log, part: part.part + 1 };
      file = following;
    }
  }
}

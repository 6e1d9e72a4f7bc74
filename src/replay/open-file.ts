import { createReadStream } from 'node:fs';
import { PhasegateError } from '../errors.ts';

/** A recording that is no file, such as standard input. */
export interface TraceStream {
  /** What to call it. */
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Opens a file, or takes the stream that is given. */
export function openTrace(file: string | TraceStream): TraceStream {
  return typeof file === 'string' ? { name: file, bytes: readFile(file) } : file;
}

// The file is opened when it is first read from, and closed whenever reading ends.
async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: 256 * 1024 }) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw new PhasegateError('file-unreadable', reasonOf(error as NodeJS.ErrnoException), { cause: error });
  }
}

function reasonOf(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'there is no such file';
  if (error.code === 'EISDIR') return 'this is a directory; name the files in it, as in "dir/**/*.jsonl"';
  if (error.code === 'EACCES') return 'reading it is not permitted';
  return `it cannot be read: ${error.message}`;
}

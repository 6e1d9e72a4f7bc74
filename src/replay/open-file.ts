import { constants, createReadStream, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { PhasegateError } from '../errors.ts';

/** A recording that is no file, such as standard input. */
export interface TraceStream {
  /** What to call it. */
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Opens a file, or takes the stream that is given. */
export function openTrace(file: string | TraceStream): TraceStream {
  return typeof file === 'string'
    ? { name: file, bytes: readOnly(() => createReadStream(file, { highWaterMark: 256 * 1024 })) }
    : file;
}

/**
 * Opens a named pipe. To wait until somebody writes to it holds up nothing, not even the end of the process.
 *
 * @param signal Ends the reading.
 */
export function openPipe(path: string, signal: AbortSignal): TraceStream {
  const pipe = () => {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return new Socket({ fd, readable: true, writable: false, signal });
  };
  return { name: path, bytes: readOnly(pipe) };
}

// The file is opened when it is first read from, and closed whenever reading ends.
async function* readOnly(open: () => AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* open();
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

import { createReadStream } from 'node:fs';
import { messageOf } from '../describe.ts';
import { PhasegateError } from '../errors.ts';
import type { Fields } from './capture.ts';

/** A log that is no file, such as standard input. */
export interface LogStream {
  /** What to call it. */
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A line as it stands there, without its newline. */
export interface Line {
  readonly bytes: Buffer;
  /** Whether it ends with a newline: the last may not. */
  readonly whole: boolean;
}

const NEWLINE = 10;
const LONGEST = 256 * 2 ** 20;

/**
 * The lines of a log as they come, several at a time.
 *
 * @throws {PhasegateError} `file-unreadable`.
 */
export async function* linesOf(
  log: string | LogStream,
  onProgress?: (bytes: number) => void,
): AsyncGenerator<Line[]> {
  const { name, bytes } = typeof log === 'string' ? { name: log, bytes: createReadStream(log, PIECES) } : log;
  let begun: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of bytes as AsyncIterable<Uint8Array>) {
      const lines: Line[] = [];
      let start = 0;
      for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, start)) {
        lines.push({ bytes: Buffer.concat([...begun, piece.subarray(start, end)]), whole: true });
        begun = [];
        length = 0;
        start = end + 1;
      }
      if (start < piece.length) begun.push(piece.subarray(start));
      length += piece.length - start;
      if (length > LONGEST) throw new Error(`it has a line of more than ${LONGEST} bytes`);
      onProgress?.(piece.length);
      yield lines;
    }
  } catch (error) {
    throw new PhasegateError('file-unreadable', `${name} cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (begun.length > 0) yield [{ bytes: Buffer.concat(begun), whole: false }];
}

/** The record that a line is; `undefined` when it is none. The beginning of one is none. */
export function recordIn(line: string | Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line.toString());
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Fields)
      : undefined;
  } catch {
    return undefined;
  }
}

const PIECES = { highWaterMark: 256 * 1024 };

import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';

/** The path of a part of a log that is full: `runs.jsonl` becomes `runs.1.jsonl`, and the next one `runs.2.jsonl`. */
export function pathOfPart(path: string, part: number): string {
  const extension = extname(path);
  return `${path.slice(0, path.length - extension.length)}.${part}${extension}`;
}

/** The numbers of the parts of a log that are there besides the present one, lowest first. */
export function partsOf(path: string): number[] {
  const extension = extname(path);
  const stem = `${basename(path, extension)}.`;
  const parts: number[] = [];
  for (const name of readdirSync(dirname(path))) {
    if (!name.startsWith(stem) || !name.endsWith(extension)) continue;
    const number = name.slice(stem.length, name.length - extension.length);
    if (/^[1-9]\d{0,14}$/.test(number)) parts.push(Number(number));
  }
  return parts.sort((a, b) => a - b);
}

/** What the last line of a file lacks: nothing, its newline, or its end. */
export type Ending = 'whole' | 'no-newline' | 'cut';

/** What a file begins and ends with. */
export interface Ends {
  readonly first: string | undefined;
  /** The last line that is whole. */
  readonly last: string | undefined;
  /** What stands behind it, where a line was cut. */
  readonly rest: string;
}

const PIECE = 64 * 1024;

/** Reads the first line of a file and the last, without what lies between. */
export function endsOf(path: string): Ends {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    let tail: Buffer = Buffer.alloc(0);
    let from = size;
    // Two newlines: one ends the last line, the other the line before.
    while (from > 0 && newlinesIn(tail) < 2) {
      const length = Math.min(PIECE, from);
      from -= length;
      tail = Buffer.concat([piece(fd, from, length), tail]);
    }
    const text = tail.toString();
    const end = text.lastIndexOf('\n');
    const last = end === -1 ? undefined : text.slice(text.lastIndexOf('\n', end - 1) + 1, end);
    let head = piece(fd, 0, Math.min(PIECE, size)).toString();
    head = head.includes('\n') ? head.slice(0, head.indexOf('\n')) : '';
    return { first: head === '' ? undefined : head, last, rest: text.slice(end + 1) };
  } finally {
    closeSync(fd);
  }
}

function piece(fd: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, from));
}

function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(10); at !== -1 && count < 2; at = bytes.indexOf(10, at + 1)) count += 1;
  return count;
}

import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import type { Fields } from './capture.ts';
import { recordIn } from './lines.ts';

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

/** What the last line of a file lacks: nothing, its newline, or its end; and so may others before it. */
export type Ending = 'whole' | 'no-newline' | 'cut';

/** What a file begins and ends with. */
export interface Ends {
  /** The first line that is a record. */
  readonly first: Fields | undefined;
  /** The last one. */
  readonly last: string | undefined;
  readonly ending: Ending;
}

const PIECE = 64 * 1024;

/** Reads the first record of a file and the last, without what lies between. Lines that were cut are none. */
export function endsOf(path: string): Ends {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const head = piece(fd, 0, Math.min(PIECE, size)).toString().split('\n');
    let first: Fields | undefined;
    for (let at = 0; first === undefined && at < head.length; at++) first = recordIn(head[at] as string);
    let ending: Ending = 'no-newline';
    for (const line of linesFromEnd(fd, size)) {
      if (recordIn(line) !== undefined) return { first, last: line, ending };
      // Behind the last newline there is nothing as a rule.
      ending = line === '' && ending === 'no-newline' ? 'whole' : 'cut';
    }
    return { first, last: undefined, ending };
  } finally {
    closeSync(fd);
  }
}

/** The lines of a file, the last one first: what stands behind the last newline. */
function* linesFromEnd(fd: number, size: number): Generator<string> {
  let begun: Buffer[] = [];
  for (let from = size; from > 0; ) {
    const length = Math.min(PIECE, from);
    from -= length;
    let bytes = piece(fd, from, length);
    for (let at = bytes.lastIndexOf(10); at !== -1; at = bytes.lastIndexOf(10)) {
      yield Buffer.concat([bytes.subarray(at + 1), ...begun]).toString();
      begun = [];
      bytes = bytes.subarray(0, at);
    }
    begun.unshift(bytes);
  }
  yield Buffer.concat(begun).toString();
}

function piece(fd: number, from: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  return bytes.subarray(0, readSync(fd, bytes, 0, length, from));
}

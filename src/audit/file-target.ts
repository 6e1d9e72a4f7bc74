import {
  closeSync,
  existsSync,
  fdatasyncSync,
  fstatSync,
  openSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { PhasegateError } from '../errors.ts';
import type { AuditLogOptions } from './options.ts';
import { type Ending, partsOf, pathOfPart } from './parts.ts';
import type { Target } from './target.ts';

/**
 * Lines at the end of a file, each with the operating system when `write` returns. A file that is full is renamed, and never
 * touched again.
 */
export class FileTarget implements Target {
  readonly #path: string;
  readonly #mode: number;
  readonly #maxBytes: number;
  readonly #keep: number;
  // Who else writes to a chained file breaks the chain.
  readonly #alone: boolean;
  readonly #regular: boolean;
  #fd: number;
  #size: number;
  #part: number;
  #ending: Ending;
  readonly name: string;
  readonly lost = 0;
  onError = (): void => {};

  constructor(
    path: string,
    { part, ending }: { readonly part: number; readonly ending: Ending },
    options: AuditLogOptions,
  ) {
    const { mode = 0o600, maxBytes = Number.POSITIVE_INFINITY, keep = Number.POSITIVE_INFINITY } = options;
    this.#path = path;
    this.name = path;
    this.#mode = mode;
    this.#maxBytes = maxBytes;
    this.#keep = keep;
    this.#alone = options.chain !== undefined && options.chain !== false;
    this.#part = part;
    this.#ending = ending;
    this.#fd = openSync(path, 'a', mode);
    const stats = fstatSync(this.#fd);
    this.#regular = stats.isFile();
    this.#size = stats.size;
  }

  get part(): number {
    return this.#part;
  }

  get cut(): boolean {
    return this.#ending === 'cut';
  }

  write(line: string): void {
    if (this.#alone && this.#regular && fstatSync(this.#fd).size !== this.#size) throw shared();
    const text = this.#ending === 'whole' ? `${line}\n` : `\n${line}\n`;
    const length = Buffer.byteLength(text);
    let written = 0;
    try {
      written = writeSync(this.#fd, text);
      // A disk that is filling up takes a part of it first, and says why with the next.
      while (written < length) written += writeSync(this.#fd, Buffer.from(text), written);
    } catch (error) {
      this.#size += written;
      if (written === 0) throw error;
      const whole = written === length - 1;
      this.#ending = whole ? 'no-newline' : 'cut';
      if (!whole) throw error;
      // All but its newline, which comes with the next line.
      return;
    }
    this.#size += written;
    this.#ending = 'whole';
  }

  sync(): void {
    fdatasyncSync(this.#fd);
  }

  get full(): boolean {
    return this.#size >= this.#maxBytes;
  }

  rotate(): void {
    const full = pathOfPart(this.#path, this.#part);
    if (existsSync(full)) throw new PhasegateError('file-unwritable', `${full} is there already`);
    renameSync(this.#path, full);
    let next: number;
    try {
      next = openSync(this.#path, 'ax', this.#mode);
    } catch (error) {
      // The file goes on as it was: what is written is never without a place.
      renameSync(full, this.#path);
      throw error;
    }
    closeSync(this.#fd);
    this.#fd = next;
    this.#size = 0;
    this.#part += 1;
    this.#ending = 'whole';
    this.#forgetOld();
  }

  async close(): Promise<void> {
    closeSync(this.#fd);
  }

  #forgetOld(): void {
    if (this.#keep === Number.POSITIVE_INFINITY) return;
    for (const part of partsOf(this.#path)) {
      if (part < this.#part - this.#keep) unlinkSync(pathOfPart(this.#path, part));
    }
  }
}

function shared(): Error {
  return new Error(
    'it was changed by someone else, so its chain cannot go on here. Give each process a file of its own',
  );
}

import { type FileHandle, open, stat } from 'node:fs/promises';
import { type LinesOptions, OwnLines } from './own-lines.ts';

const CHUNK = 256 * 1024;
const ACTIVE_MS = 60_000;

/** A recording of ours that may grow while it is shown. */
export class OwnFile {
  readonly #path: string;
  readonly #lines: OwnLines;
  #at = 0;
  #inode: number | undefined;
  // Kept open while it is written to: where the log is rotated, its last lines are read from here.
  #file: FileHandle | undefined;

  constructor(path: string, options: LinesOptions) {
    this.#path = path;
    this.#lines = new OwnLines(path, options);
  }

  /** Reads what there is more of it since it was last read. A file in its place is read from its beginning. */
  async readOn(signal: AbortSignal): Promise<void> {
    const { ino, size, mtimeMs } = await stat(this.#path);
    if (this.#inode !== undefined && ino !== this.#inode) {
      await this.#readAll(signal);
      await this.close();
      this.#restart();
    }
    if (size < this.#at) this.#restart();
    this.#inode = ino;
    if (size === this.#at) return;
    this.#file ??= await open(this.#path);
    await this.#readAll(signal);
    if (Date.now() - mtimeMs > ACTIVE_MS) await this.close();
  }

  async close(): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const buffer = new Uint8Array(CHUNK);
    while (this.#file !== undefined && !signal.aborted) {
      const { bytesRead } = await this.#file.read(buffer, 0, CHUNK, this.#at);
      if (bytesRead === 0) break;
      this.#at += bytesRead;
      this.#lines.push(buffer.subarray(0, bytesRead));
    }
    this.#lines.pause();
  }

  #restart(): void {
    this.#lines.restart();
    this.#at = 0;
  }
}

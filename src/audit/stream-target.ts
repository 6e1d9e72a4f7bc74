import type { Writable } from 'node:stream';
import type { AuditLogOptions } from './options.ts';
import type { Target } from './target.ts';

/** Lines in a stream, as long as it takes them. */
export class StreamTarget implements Target {
  readonly #stream: Writable;
  readonly #maxBuffered: number;
  readonly name = 'to a stream';
  readonly part = 1;
  readonly cut = false;
  readonly full = false;
  lost = 0;
  onError: (error: Error) => void = () => {};

  constructor(stream: Writable, { maxBuffered = 16 * 2 ** 20 }: AuditLogOptions) {
    this.#stream = stream;
    this.#maxBuffered = maxBuffered;
    // Without a listener the error of a stream ends the process.
    stream.on('error', this.#failed);
  }

  write(line: string): void {
    const stream = this.#stream;
    if (!stream.writable) throw stream.errored ?? new Error('the stream is closed');
    const bytes = Buffer.from(`${line}\n`);
    if (stream.writableLength + bytes.length > this.#maxBuffered) {
      throw new Error(`${this.#maxBuffered} bytes wait in the stream already`);
    }
    stream.write(bytes, this.#written);
  }

  sync(): void {}

  rotate(): void {}

  // The stream is whoever's it is: it stays open.
  async close(): Promise<void> {
    const stream = this.#stream;
    if (stream.writable && stream.writableLength > 0) {
      await new Promise((resolve) => stream.write('', resolve));
    }
    // One that has failed tells it later than whoever waits for a write.
    if (stream.writable) stream.off('error', this.#failed);
  }

  readonly #failed = (error: Error): void => this.onError(error);

  readonly #written = (error: Error | null | undefined): void => {
    if (error === null || error === undefined) return;
    this.lost += 1;
    this.onError(error);
  };
}

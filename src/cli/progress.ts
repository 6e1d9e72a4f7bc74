import { type Io, widthOf } from './io.ts';

/** A line on the terminal that tells how far a long command is. Nowhere else is there anything to see of it. */
export class Progress {
  readonly #io: Io;
  readonly #total: number | undefined;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #bytes = 0;
  #runs = 0;
  #calls = 0;
  #records = 0;
  #shown = false;

  /** @param total How many bytes there are to read, if that is known. */
  constructor(io: Io, total: number | undefined) {
    this.#io = io;
    this.#total = total;
    if (io.stderr.isTTY === true) this.#timer = setInterval(() => this.#show(), 200).unref();
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes;
  }

  addRun(calls: number): void {
    this.#runs += 1;
    this.#calls += calls;
  }

  addRecords(records: number): void {
    this.#records += records;
  }

  /** Makes room for a line that is to stay. */
  clear(): void {
    if (this.#shown) this.#io.stderr.write('\r\u001b[K');
    this.#shown = false;
  }

  end(): void {
    clearInterval(this.#timer);
    this.clear();
  }

  #show(): void {
    const part =
      this.#total === undefined || this.#total === 0 ? '' : `${percent(this.#bytes, this.#total)}  `;
    const what = this.#records > 0 ? `${this.#records} records` : `${this.#runs} runs  ${this.#calls} calls`;
    const text = `${part}${(this.#bytes / 2 ** 20).toFixed(1)} MiB  ${what}`;
    this.#io.stderr.write(`\r\u001b[K${text.slice(0, widthOf(this.#io.stderr) - 1)}`);
    this.#shown = true;
  }
}

function percent(part: number, whole: number): string {
  return `${Math.min(100, Math.floor((100 * part) / whole))}%`.padStart(4);
}

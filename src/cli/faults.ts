import { type FileFault, faultText } from '../replay/index.ts';
import { type Io, paintOn } from './io.ts';
import { printable } from './text.ts';

// A file that is nothing but faults should not bury what there is to say of the others.
const SHOWN_PER_FILE = 10;

/** Tells of input that cannot be read, on standard error. */
export class FaultPrinter {
  readonly #io: Io;
  readonly #clear: () => void;
  #file: string | undefined;
  #ofFile = 0;
  #total = 0;

  /** @param clear Makes room for a line. */
  constructor(io: Io, clear: () => void) {
    this.#io = io;
    this.#clear = clear;
  }

  get total(): number {
    return this.#total;
  }

  tell(fault: FileFault): void {
    // What is cut short by an interruption is no fault of the input.
    if (this.#io.signal.aborted) return;
    if (fault.file !== this.#file) this.end();
    this.#file = fault.file;
    this.#ofFile += 1;
    this.#total += 1;
    if (this.#ofFile <= SHOWN_PER_FILE) this.#write(printable(faultText(fault)));
  }

  /** Tells how much was left out. */
  end(): void {
    const left = this.#ofFile - SHOWN_PER_FILE;
    if (left > 0) this.#write(`${this.#file}: and ${left} more like that`);
    this.#ofFile = 0;
  }

  #write(text: string): void {
    this.#clear();
    this.#io.stderr.write(`${paintOn(this.#io.stderr, this.#io.env)('yellow', 'unreadable')}: ${text}\n`);
  }
}

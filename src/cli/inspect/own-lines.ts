import type { RunStore, Source } from '../../inspect/store.ts';
import { tidyEvent } from '../../inspect/tidy-event.ts';
import { phasegate } from '../../replay/formats/phasegate.ts';
import type { FileFault } from '../../replay/index.ts';
import type { Progress } from '../progress.ts';

/** Where the lines go, and who is told of them. */
export interface LinesOptions {
  readonly store: RunStore;
  /** Audit logs by their ids: one that was rotated has several files, and runs go on from one to the next. */
  readonly logs: Map<string, Source>;
  readonly progress: Progress;
  readonly onFault: (fault: FileFault) => void;
}

// An event that is larger is none that we have written.
const LINE_LIMIT = 16 * 2 ** 20;

/** The lines of one of our own recordings: events as they were told, which are taken as they come. */
export class OwnLines {
  readonly #name: string;
  readonly #options: LinesOptions;
  #source: Source;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #line = 0;

  constructor(name: string, options: LinesOptions) {
    this.#name = name;
    this.#options = options;
    this.#source = options.store.addSource(name);
  }

  push(bytes: Uint8Array): void {
    this.#options.progress.addBytes(bytes.length);
    const lines = `${this.#rest}${this.#decoder.decode(bytes, { stream: true })}`.split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#take(line, true);
    if (this.#rest.length > LINE_LIMIT) this.#endLine();
  }

  /** Nothing more is there for now: a last line that is whole counts without its end, any other may yet be finished. */
  pause(): void {
    if (this.#rest !== '' && this.#take(this.#rest, false)) this.#rest = '';
  }

  /** The file was cut: what comes now is another one. */
  restart(): void {
    if (this.#rest !== '') this.#endLine();
    this.#line = 0;
  }

  #endLine(): void {
    this.#take(this.#rest, true);
    this.#rest = '';
  }

  /** @returns Whether it was taken, or needs not be. */
  #take(line: string, whole: boolean): boolean {
    this.#line += whole ? 1 : 0;
    if (line.trim() === '') return true;
    const value = parsed(line);
    if (this.#isOfTheLog(value)) return true;
    const event = tidyEvent(value);
    if (event === undefined) {
      if (whole) this.#fault('this is no event: expected a JSON object with a "type" and a "run"');
      return false;
    }
    const { store, progress } = this.#options;
    const run = store.take(this.#source, event, event === value ? line : undefined);
    if (event.type === 'run.ended') progress.addRun(run.summary().calls);
    return true;
  }

  // What an audit log says of itself.
  #isOfTheLog(value: unknown): boolean {
    const { type, log, lost } = Object(value) as Readonly<Record<string, unknown>>;
    if (typeof type !== 'string' || !type.startsWith('log.')) return false;
    if (typeof log === 'string') this.#source = this.#sourceOf(log);
    if (Number.isSafeInteger(lost)) this.#options.store.lose(this.#source, lost as number);
    return true;
  }

  #sourceOf(log: string): Source {
    const { logs } = this.#options;
    const source = logs.get(log) ?? this.#source;
    logs.set(log, source);
    return source;
  }

  #fault(message: string): void {
    this.#options.onFault({ file: this.#name, line: this.#line, message });
  }
}

/** Whether a file that begins like this is a recording of ours. */
export function isOwn(head: Uint8Array): boolean {
  const lines = new TextDecoder().decode(head).split('\n');
  return lines.slice(0, 20).some((line) => phasegate.detect?.(parsed(line)) === 'yes');
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

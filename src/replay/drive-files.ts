import { invalidArgument, PhasegateError } from '../errors.ts';
import { checkOptions } from '../options.ts';
import type { Driver, DriverOptions } from './driver.ts';
import type { TraceFormat } from './format.ts';
import type { TraceStream } from './open-file.ts';
import { joinParts } from './parts.ts';
import { readEvents } from './read-events.ts';
import type { FileFault } from './report.ts';

/** Which recordings are read, and how. */
export interface ReadOptions {
  /**
   * The recordings: paths of files, or streams. Each is read once, from its beginning to its end. The files of an audit log that
   * was written to several are one recording where they come one after the other, oldest first.
   */
  readonly files: Iterable<string | TraceStream> | AsyncIterable<string | TraceStream>;
  /**
   * How all of them are read.
   * @default each as its content says
   */
  readonly format?: TraceFormat | undefined;
  /**
   * Is told what cannot be read. The rest is read none the less.
   * @default all faults are thrown at the end, as one error
   */
  readonly onFault?: ((fault: FileFault) => void) | undefined;
  /** Is told, from time to time, how many bytes were read since it was last told. */
  readonly onProgress?: ((bytes: number) => void) | undefined;
  /** Ends the reading: its reason is thrown. A stream that does not end has to be ended besides. */
  readonly signal?: AbortSignal | undefined;
}

const READ_OPTIONS = [
  'files',
  'format',
  'onFault',
  'onProgress',
  'signal',
] as const satisfies readonly (keyof ReadOptions)[];

/**
 * Checks what is to be read.
 *
 * @param further The names of the options that this reader has besides.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function checkReadOptions(what: string, options: ReadOptions, further: readonly string[]): void {
  checkOptions(what, options, [...READ_OPTIONS, ...further]);
  const { files } = options as { readonly files: unknown };
  // A string would be taken for a list of names of one letter.
  const listed =
    typeof files === 'object' &&
    files !== null &&
    (Symbol.iterator in files || Symbol.asyncIterator in files);
  if (!listed) throw invalidArgument('files', 'a list of paths or streams', files);
}

/**
 * Drives with each file the drivers that are made for it, all of them in one reading.
 *
 * @param driversFor Makes them. They take the same events, so one of them may tell of faults.
 * @returns The drivers of the present file, whenever they may have reports.
 */
export async function* driveFiles<T extends readonly Driver[]>(
  options: ReadOptions,
  driversFor: (file: Pick<DriverOptions, 'file' | 'place' | 'onFault'>) => T,
): AsyncGenerator<T, void, undefined> {
  const unread: FileFault[] = [];
  const tell = options.onFault ?? ((fault) => unread.push(fault));
  for await (const stream of joinParts(options.files)) {
    let faults = 0;
    const place = (line: number) => stream.place(line);
    const onFault = (fault: FileFault) => {
      faults += 1;
      tell(fault);
    };
    const drivers = driversFor({ file: stream.name, place, onFault });
    for await (const events of readEvents(counted(stream, options.onProgress), options.format)) {
      options.signal?.throwIfAborted();
      for (const driver of drivers) await driver.push(events);
      yield drivers;
    }
    options.signal?.throwIfAborted();
    for (const driver of drivers) await driver.end();
    yield drivers;
    if (faults === 0 && drivers.every((driver) => driver.runs === 0)) {
      onFault({ file: stream.name, line: null, message: 'it holds no run' });
    }
  }
  if (unread.length > 0) throw unreadable(unread);
}

/** The fault in one line: file, line, and what is wrong. */
export function faultText({ file, line, message }: FileFault): string {
  return line === null ? `${file}: ${message}` : `${file}:${line}: ${message}`;
}

function counted(stream: TraceStream, onProgress: ReadOptions['onProgress']): TraceStream {
  return onProgress === undefined ? stream : { name: stream.name, bytes: count(stream.bytes, onProgress) };
}

async function* count(bytes: AsyncIterable<Uint8Array>, onProgress: (bytes: number) => void) {
  for await (const chunk of bytes) {
    onProgress(chunk.length);
    yield chunk;
  }
}

function unreadable(faults: readonly FileFault[]): PhasegateError {
  const shown = faults.slice(0, 10).map(faultText);
  const more = faults.length > shown.length ? [`and ${faults.length - shown.length} more`] : [];
  const lines = ['Some recordings could not be read:', ...shown, ...more];
  return new PhasegateError('unreadable-trace', lines.join('\n  '));
}

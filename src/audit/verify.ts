import { invalidArgument, PhasegateError } from '../errors.ts';
import { checkKey, type Key } from '../hash.ts';
import { checkOptions } from '../options.ts';
import type { AuditHead } from './audit-log.ts';
import type { Fields } from './capture.ts';
import { hashOfLine, type Link, saidHash } from './chain.ts';
import { type Line, type LogStream, linesOf, recordIn } from './lines.ts';
import { Links, type Misplaced } from './links.ts';

/** Which logs are verified, and against what. */
export interface VerifyAuditOptions {
  /** The files: of each log in the order in which they were written. */
  readonly files: Iterable<string | LogStream> | AsyncIterable<string | LogStream>;
  /** The key, of logs that were written with one. */
  readonly key?: Key | undefined;
  /** A hash that was kept elsewhere: a record of one of the logs must have it. */
  readonly expectHead?: string | undefined;
  /** Is told of each fault as it is found. */
  readonly onFault?: ((fault: AuditFault) => void) | undefined;
  /** Is told, from time to time, how many bytes and records were read since it was last told. */
  readonly onProgress?: ((bytes: number, records: number) => void) | undefined;
  /** Ends the reading: what was read until then is reported. */
  readonly signal?: AbortSignal | undefined;
}

/** A place where a log is not as it was written. */
export interface AuditFault {
  readonly file: string;
  /** From 1; `null` where it is the log as a whole. */
  readonly line: number | null;
  /**
   * `edited`: the record was changed, be it only how it is written; `missing`: records before it were removed; `moved`, `repeated`:
   * it stands where it was not written; `replaced`: it, or the one before, is another; `foreign`: it is no record of the
   * chain; `empty`: there is none; `head`: the record that was expected is not there.
   */
  readonly kind: Misplaced['kind'] | 'edited' | 'foreign' | 'empty' | 'head';
  readonly message: string;
}

/** What a log is worth. */
export interface AuditReport {
  readonly files: readonly string[];
  /** How many records there are, those of the log about itself included. */
  readonly records: number;
  /** The first record: more than 1 where older files of the log are not there. */
  readonly first: number;
  /** The last record: keep it elsewhere. */
  readonly head: AuditHead | null;
  /** How many records the log says it could not write. */
  readonly lost: number;
  /** How many lines were cut, as a crash or a full disk cuts them; the log says so of all but the last. */
  readonly cut: number;
  /** Whether it was closed: else it is still written, its process has died, or its end was cut off. */
  readonly closed: boolean;
  /** Whether it was written with a key. */
  readonly keyed: boolean;
  readonly faults: number;
}

const OPTIONS = [
  'files',
  'key',
  'expectHead',
  'onFault',
  'onProgress',
  'signal',
] as const satisfies readonly (keyof VerifyAuditOptions)[];

/**
 * Verifies the chains of audit logs: finds whatever was edited, removed, put in, repeated or moved. It cannot find that the
 * end was cut off, nor that someone who can write the file (and has the key, where there is one) wrote all of it anew, unless
 * `expectHead` says which record there must be.
 *
 * @returns The logs, in the order in which they begin.
 * @throws {PhasegateError} (rejects) `invalid-argument`; `file-unreadable`; `log-mismatch` for a log without a chain, one that
 *   needs a key where none is given, or one without a key where one is.
 * @example
 * const [report] = await verifyAudit({ files: ['runs.1.jsonl', 'runs.jsonl'] });
 * if (report?.faults !== 0) alert(report);
 */
export async function verifyAudit(options: VerifyAuditOptions): Promise<AuditReport[]> {
  checkOptions('verifyAudit', options, OPTIONS);
  const { files, expectHead, signal, onProgress } = options;
  if (typeof files === 'string') throw invalidArgument('files', 'a list of paths or streams', files);
  if (options.key !== undefined) checkKey(options.key);
  const logs: LogCheck[] = [];
  for await (const file of files) {
    if (signal?.aborted) break;
    const name = typeof file === 'string' ? file : file.name;
    let bytes = 0;
    let number = 0;
    let log: LogCheck | undefined;
    for await (const lines of linesOf(file, (read) => (bytes += read))) {
      for (const line of lines) {
        log ??= logOf(line, name, logs, options);
        number += 1;
        log.take(line, number);
      }
      onProgress?.(bytes, lines.length);
      bytes = 0;
      if (signal?.aborted) break;
    }
    if (!signal?.aborted) log?.endFile();
    if (log === undefined && !signal?.aborted) logs.push(new LogCheck(name, undefined, options));
  }
  const interrupted = signal?.aborted === true;
  const reports = logs.map((log) => log.end(interrupted));
  if (expectHead !== undefined && !interrupted && !logs.some((log) => log.expected)) {
    const [file = '(no file)'] = logs.at(-1)?.files ?? [];
    const message = `no record has the hash ${expectHead}: the end was cut off, or the log was written anew`;
    options.onFault?.({ file, line: null, kind: 'head', message });
    return reports.map((report, i) =>
      i === reports.length - 1 ? { ...report, faults: report.faults + 1 } : report,
    );
  }
  return reports;
}

/** The log that a file belongs to, by its first line. */
function logOf(first: Line, name: string, logs: LogCheck[], options: VerifyAuditOptions): LogCheck {
  const header = recordIn(first.bytes);
  const opens = header?.['type'] === 'log.opened';
  if (header !== undefined && saidHash(first.bytes) === undefined && !('n' in header)) {
    throw new PhasegateError(
      'log-mismatch',
      `${name} was written without a chain: there is nothing to verify`,
    );
  }
  const id = opens ? header['log'] : undefined;
  // Files of another may lie between.
  const known = id === undefined ? logs.at(-1) : logs.find((log) => log.id === id);
  if (known !== undefined) {
    known.files.push(name);
    return known;
  }
  if (opens && header['chain'] === 'hmac-sha256' && options.key === undefined) {
    throw new PhasegateError(
      'log-mismatch',
      `${name} was written with a key, and can only be verified with it`,
    );
  }
  if (opens && header['chain'] !== 'hmac-sha256' && options.key !== undefined) {
    const why = 'is not as it was written if it was written with that key';
    throw new PhasegateError('log-mismatch', `${name} says that it was written without a key: it ${why}`);
  }
  const log = new LogCheck(name, header, options);
  logs.push(log);
  return log;
}

class LogCheck {
  readonly files: string[];
  id: unknown;
  /** Whether one of its records has the hash that is expected. */
  expected = false;
  readonly #options: VerifyAuditOptions;
  readonly #keyed: boolean;
  readonly #links = new Links();
  // Lines that are no records: cut, if the next record says so.
  #broken: {
    readonly file: string;
    readonly line: number;
    readonly whole: boolean;
  }[] = [];
  #first = 0;
  #records = 0;
  #lost = 0;
  #cut = 0;
  #closed = false;
  #faults = 0;

  constructor(file: string, header: Fields | undefined, options: VerifyAuditOptions) {
    this.files = [file];
    this.id = header?.['log'];
    this.#options = options;
    // Not as the header says: who has no key can write another.
    this.#keyed = options.key !== undefined;
  }

  take({ bytes, whole }: Line, line: number): void {
    const file = this.files.at(-1) as string;
    const record = recordIn(bytes);
    const hash = saidHash(bytes);
    const n = record?.['n'];
    if (record === undefined) {
      this.#broken.push({ file, line, whole });
      return;
    }
    if (hash === undefined || typeof n !== 'number') {
      const message = 'this record is none of the chain: it was put in';
      this.#tell({ file, line, kind: 'foreign', message });
      return;
    }
    if (record['cut'] === true) this.#forgetCut();
    else this.#tellBroken();
    if (hashOfLine(bytes, this.#key) !== hash) {
      const or = this.#keyed && this.#records === 0 ? ', or the key is another' : '';
      this.#tell({
        file,
        line,
        kind: 'edited',
        message: `record ${n} was changed after it was written${or}`,
      });
    }
    const { type, prev = null } = record;
    const link: Link = { n, prev: prev as string | null, hash };
    // A log begins in its midst only with the header of a later file.
    const opensLater = type === 'log.opened' && line === 1 && record['part'] !== 1;
    const misplaced = this.#links.take(link, opensLater);
    if (misplaced !== undefined) this.#tell({ file, line, ...misplaced });
    this.#records += 1;
    if (this.#records === 1) this.#first = n;
    // The line that was to name it may have been cut.
    if (type === 'log.opened') this.id ??= record['log'];
    if (type === 'log.gap') this.#lost += Number(record['lost']);
    this.#closed = type === 'log.closed';
    if (hash === this.#options.expectHead) this.expected = true;
  }

  endFile(): void {
    // What has no newline is cut: nobody has written on.
    const last = this.#broken.at(-1);
    if (last?.whole === false) this.#forgetCut();
  }

  end(interrupted: boolean): AuditReport {
    if (!interrupted) {
      this.#tellBroken();
      if (this.#records === 0) {
        this.#tell({
          file: this.files[0] as string,
          line: null,
          kind: 'empty',
          message: 'there is no record in it',
        });
      }
    }
    const last = this.#links.last;
    return {
      files: this.files,
      records: this.#records,
      first: this.#first,
      head: last === undefined ? null : { n: last.n, hash: last.hash },
      lost: this.#lost,
      cut: this.#cut,
      closed: this.#closed,
      keyed: this.#keyed,
      faults: this.#faults,
    };
  }

  get #key(): Key | undefined {
    return this.#keyed ? this.#options.key : undefined;
  }

  #forgetCut(): void {
    this.#cut += this.#broken.length;
    this.#broken = [];
  }

  #tellBroken(): void {
    const message = 'this line is no record';
    for (const { file, line } of this.#broken) this.#tell({ file, line, kind: 'foreign', message });
    this.#broken = [];
  }

  #tell(fault: AuditFault): void {
    this.#faults += 1;
    this.#options.onFault?.(fault);
  }
}

import { randomUUID } from 'node:crypto';
import type { Writable } from 'node:stream';
import { messageOf } from '../describe.ts';
import { invalidArgument, PhasegateError } from '../errors.ts';
import type { PhasegateEvent } from '../events.ts';
import type { Key } from '../hash.ts';
import type { Observer } from '../observers.ts';
import { Capture, type Fields } from './capture.ts';
import { Chain, type ChainKind } from './chain.ts';
import { FileTarget } from './file-target.ts';
import { type AuditLogOptions, checkAuditOptions } from './options.ts';
import { type Standing, standingOf } from './resume.ts';
import { StreamTarget } from './stream-target.ts';
import type { Target } from './target.ts';

/** The last record of a chain: kept elsewhere, it shows that nothing up to there was changed or cut off since. */
export interface AuditHead {
  /** How many records there are. */
  readonly n: number;
  readonly hash: string;
}

/** A log of all that an enforcement decides: hand it to `enforcement.on`. */
export interface AuditLog extends Observer {
  readonly listen: (event: PhasegateEvent) => void;
  /** Whether calls are refused that cannot be logged: `onError: 'refuse'`. */
  readonly required: boolean;
  /** How many records could not be written so far. */
  readonly lost: number;
  /** How many captured values were left out because `redact` failed. */
  readonly withheld: number;
  /** Why records cannot be written at the moment; `null` while they can. */
  readonly fault: Error | null;
  /** The last record of the chain; `null` without one. */
  readonly head: AuditHead | null;
  /**
   * Ends the log: writes a last record, and waits until a stream has taken all of it. Events that come later are lost. A stream
   * stays open.
   */
  close(): Promise<void>;
}

/**
 * Makes a log that holds every event of an enforcement as a line of JSON, as `phasegate replay` reads it. With a path, a
 * decision is with the operating system before the body of the call starts.
 *
 * @param target The path of a file, which is made or continued; or a stream.
 * @throws {PhasegateError} `invalid-argument`; `file-unwritable` when the file cannot be opened; `log-mismatch` when it
 *   is there and its chain cannot go on.
 * @example
 * const log = auditLog('runs.jsonl', { chain: true });
 * enforcement.on(log);
 */
export function auditLog(target: string | Writable, options: AuditLogOptions = {}): AuditLog {
  if (typeof target === 'string' && target !== '') {
    checkAuditOptions(options, 'path');
    return openFile(target, options);
  }
  if (
    typeof (target as Writable | null)?.write !== 'function' ||
    typeof (target as Writable).on !== 'function'
  )
    throw invalidArgument('target', 'the path of a file, or a stream', target);
  checkAuditOptions(options, 'stream');
  const log = { log: randomUUID(), last: undefined };
  return new Log(new StreamTarget(target as Writable, options), log, options);
}

function openFile(path: string, options: AuditLogOptions): AuditLog {
  try {
    const standing = standingOf(path, kindOf(options), keyOf(options));
    return new Log(new FileTarget(path, standing, options), standing, options);
  } catch (error) {
    if (error instanceof PhasegateError) throw error;
    throw new PhasegateError('file-unwritable', `${path} cannot be opened: ${unopenedBecause(error)}`, {
      cause: error,
    });
  }
}

function unopenedBecause(error: unknown): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOENT':
      return 'the folder that it is to be in is not there. Make it first';
    case 'EISDIR':
      return 'it is a directory. Name a file in it';
    case 'EACCES':
      return 'its permissions, or those of its folder, do not allow it. Change them, or name another file';
    default:
      return messageOf(error);
  }
}

// Of what is written, for those who read it.
const VERSION = 1;

const BUSY =
  'the audit log is reading the values of another call, and cannot take note of one that this asks for';

class Log implements AuditLog {
  readonly required: boolean;
  readonly results: boolean;
  readonly #target: Target;
  readonly #log: string;
  readonly #kind: ChainKind;
  readonly #chain: Chain | undefined;
  readonly #capture: Capture;
  readonly #fsync: boolean;
  readonly #onFault: (error: Error) => void;
  /** The part that has its header. */
  #headed = 0;
  #lost = 0;
  /** How many records the log does not say yet that they are missing, and since when. */
  #missing = 0;
  #missingSince = 0;
  #fault: Error | null = null;
  /** Whether it was told that no other file can be begun. */
  #stuck = false;
  /** Whether values are being captured: `redact`, or what they are made of, may do things that are told here. */
  #capturing = false;
  /** What was told meanwhile. It is written after the record that it was told in. */
  readonly #held: PhasegateEvent[] = [];
  #closing: Promise<void> | undefined;

  constructor(target: Target, { log, last }: Pick<Standing, 'log' | 'last'>, options: AuditLogOptions) {
    this.#target = target;
    this.#log = log;
    this.#kind = kindOf(options);
    this.#chain = this.#kind === null ? undefined : new Chain(keyOf(options), last);
    this.#capture = new Capture(options);
    this.#fsync = options.fsync ?? false;
    this.#onFault = options.onFault ?? warn;
    this.required = options.onError === 'refuse';
    this.results = this.#capture.results;
    target.onError = (error) => this.#fail(error);
  }

  get lost(): number {
    return this.#lost + this.#target.lost;
  }

  get withheld(): number {
    return this.#capture.withheld;
  }

  get fault(): Error | null {
    return this.#fault;
  }

  get head(): AuditHead | null {
    const last = this.#chain?.last;
    return last === undefined ? null : { n: last.n, hash: last.hash };
  }

  readonly listen = (event: PhasegateEvent): void => {
    if (this.#capturing) {
      // Whether that can be logged is known only later, when its body has started.
      if (this.required && event.type === 'call.started') throw new Error(BUSY);
      this.#held.push(event);
      return;
    }
    const fault = this.#take(event);
    while (this.#held.length > 0) this.#take(this.#held.shift() as PhasegateEvent);
    if (fault !== undefined && this.required && event.type === 'call.started') throw fault;
  };

  close(): Promise<void> {
    if (this.#closing === undefined) {
      if (this.#headed > 0) this.#append({ type: 'log.closed', time: Date.now() });
      this.#closing = this.#target.close();
    }
    return this.#closing;
  }

  /** @returns Why its record was not written, or is not on the disk. */
  #take(event: PhasegateEvent): Error | undefined {
    const { type } = event;
    this.#capturing = true;
    const record = this.#capture.recordOf(event);
    this.#capturing = false;
    const written = this.#append(record);
    return written ?? (type === 'call.started' || type === 'run.ended' ? this.#sync() : undefined);
  }

  /** @returns Why the record was not written, or what had to be written before it. */
  #append(record: Fields): Error | undefined {
    try {
      if (this.#closing !== undefined) throw new Error('it was closed');
      this.#moveOn();
      if (this.#headed !== this.#target.part) this.#writeHeader();
      if (this.#missing > 0) this.#writeGap();
      this.#write(record);
      // What has to be on the disk is well when it is there.
      if (!this.#fsync) this.#fault = null;
      return undefined;
    } catch (error) {
      if (this.#missing === 0) this.#missingSince = Date.now();
      this.#missing += 1;
      this.#lost += 1;
      return this.#fail(error);
    }
  }

  #moveOn(): void {
    if (!this.#target.full) return;
    try {
      this.#target.rotate();
    } catch (error) {
      // The file grows on instead: nothing is lost.
      if (this.#stuck) return;
      this.#stuck = true;
      const what = `${this.#target.name} cannot go on in another file, and grows: ${messageOf(error)}`;
      this.#tell(new PhasegateError('log-unwritable', what, { cause: error }));
    }
  }

  #writeHeader(): void {
    const { part } = this.#target;
    const header = {
      type: 'log.opened',
      time: Date.now(),
      version: VERSION,
      log: this.#log,
      part,
      chain: this.#kind,
    };
    this.#write(header);
    this.#headed = part;
  }

  #writeGap(): void {
    this.#write({ type: 'log.gap', time: Date.now(), since: this.#missingSince, lost: this.#missing });
    this.#missing = 0;
  }

  #write(record: Fields): void {
    const said = this.#target.cut ? { ...record, cut: true } : record;
    if (this.#chain === undefined) {
      this.#target.write(JSON.stringify(said));
      return;
    }
    const { line, link } = this.#chain.seal(said);
    this.#target.write(line);
    this.#chain.advance(link);
  }

  /** @returns Why what was written is not on the disk. */
  #sync(): Error | undefined {
    if (!this.#fsync) return undefined;
    try {
      this.#target.sync();
      this.#fault = null;
      return undefined;
    } catch (error) {
      return this.#fail(error);
    }
  }

  /** Records are lost: that is told once, until one is written again. */
  #fail(cause: unknown): Error {
    if (this.#fault !== null) return this.#fault;
    const what = `The audit log ${this.#target.name} cannot be written, and loses records: ${messageOf(cause)}`;
    const fault = new PhasegateError('log-unwritable', what, { cause });
    this.#fault = fault;
    // Last: whoever is told may end runs, which is to be logged in turn.
    this.#tell(fault);
    return fault;
  }

  #tell(error: Error): void {
    try {
      this.#onFault(error);
    } catch {
      // Whoever is told of a fault makes no further one.
    }
  }
}

function warn(error: Error): void {
  process.emitWarning(error);
}

function kindOf({ chain = false }: AuditLogOptions): ChainKind {
  if (typeof chain === 'boolean') return chain ? 'sha256' : null;
  return 'hmac-sha256';
}

function keyOf({ chain }: AuditLogOptions): Key | undefined {
  return typeof chain === 'object' ? chain.key : undefined;
}

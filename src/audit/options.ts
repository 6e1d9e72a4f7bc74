import { isCount } from '../decide.ts';
import { invalidArgument } from '../errors.ts';
import { checkKey, type Key } from '../hash.ts';
import { checkOptions } from '../options.ts';

/** What a value is that an audit log may hold besides the decisions. */
export interface CapturedValue {
  /** What a tool was called with, what it returned, or what it threw. */
  readonly kind: 'args' | 'result' | 'error';
  readonly tool: string;
  /** The run and the call; `null` for a call that was refused because no run was active. */
  readonly run: string | null;
  readonly call: string | null;
}

/** How an audit log is written. */
export interface AuditLogOptions {
  /**
   * What is written besides the decisions: the arguments of calls, what they returned, what they threw. All of it may be
   * private, and none of it is needed for a replay.
   * @default none of them
   */
  readonly capture?:
    | {
        readonly args?: boolean | undefined;
        readonly results?: boolean | undefined;
        readonly errors?: boolean | undefined;
      }
    | undefined;
  /**
   * Is handed each value that is to be written, and returns what is written instead; `undefined` leaves it out. It must not
   * change the value itself, which is the tool's own. When it throws or answers with a promise, the value is left out.
   */
  readonly redact?: ((value: unknown, what: CapturedValue) => unknown) | undefined;
  /**
   * How many bytes a captured value may have as JSON, 1 or more; a longer one is left out, and the record says so.
   * @default 65536
   */
  readonly maxValueBytes?: number | undefined;
  /**
   * Whether each record carries the hash of the one before, so that `phasegate audit verify` finds what was changed. With a
   * `key` it is an HMAC, which nobody without the key can make.
   * @default false
   */
  readonly chain?: boolean | { readonly key: Key } | undefined;
  /**
   * What happens when a record cannot be written: calls go on, and what was lost is counted; or calls are refused
   * (`observer-failed`) until it can be written again.
   * @default 'continue'
   */
  readonly onError?: 'continue' | 'refuse' | undefined;
  /**
   * Is told once when records begin to be lost, and again after the log has been well in between.
   * @default a process warning
   */
  readonly onFault?: ((error: Error) => void) | undefined;
  /** The permissions of files that are made. @default 0o600 */
  readonly mode?: number | undefined;
  /**
   * Whether what was written is also forced to the disk before a body starts and when a run ends, so that it outlasts a loss
   * of power. Without it, it outlasts a crash of the process.
   * @default false
   */
  readonly fsync?: boolean | undefined;
  /**
   * How many bytes a file may have before the next one is begun, 1024 or more; `runs.jsonl` is then renamed to `runs.1.jsonl`,
   * the next one to `runs.2.jsonl`.
   * @default Infinity
   */
  readonly maxBytes?: number | undefined;
  /** How many files that are full are kept; older ones are deleted. @default Infinity */
  readonly keep?: number | undefined;
  /**
   * For a stream: how many bytes may wait in it. What comes while there are more is lost, and counted.
   * @default 16777216
   */
  readonly maxBuffered?: number | undefined;
}

const OPTIONS = [
  'capture',
  'redact',
  'maxValueBytes',
  'chain',
  'onError',
  'onFault',
  'mode',
  'fsync',
  'maxBytes',
  'keep',
  'maxBuffered',
] as const satisfies readonly (keyof AuditLogOptions)[];
const OF_FILES = ['mode', 'fsync', 'maxBytes', 'keep'] as const;
const OF_STREAMS = ['maxBuffered'] as const;

/** @throws {PhasegateError} `invalid-argument`. */
export function checkAuditOptions(options: AuditLogOptions, target: 'path' | 'stream'): void {
  checkOptions('an audit log', options, OPTIONS);
  const { capture, redact, maxValueBytes, chain, onError, onFault, mode, fsync } = options;
  const { maxBytes, keep, maxBuffered } = options;
  if (capture !== undefined) {
    checkOptions('capture', capture, ['args', 'results', 'errors']);
    for (const [name, value] of Object.entries(capture)) checkBoolean(`capture.${name}`, value);
  }
  if (chain !== undefined && typeof chain !== 'boolean') {
    checkOptions('chain', chain, ['key']);
    checkKey(chain.key, 'chain.key');
  }
  for (const [name, fn] of Object.entries({ redact, onFault })) {
    if (fn !== undefined && typeof fn !== 'function') throw invalidArgument(name, 'a function', fn);
  }
  if (onError !== undefined && onError !== 'continue' && onError !== 'refuse')
    throw invalidArgument('onError', "'continue' or 'refuse'", onError);
  checkBoolean('fsync', fsync);
  if (mode !== undefined && !(Number.isInteger(mode) && mode >= 0 && mode <= 0o777))
    throw invalidArgument('mode', 'permissions as in 0o600', mode);
  checkAtLeast('maxValueBytes', 1, maxValueBytes);
  checkAtLeast('maxBytes', 1024, maxBytes);
  checkAtLeast('keep', 1, keep);
  checkAtLeast('maxBuffered', 1, maxBuffered);
  for (const name of target === 'path' ? OF_STREAMS : OF_FILES) {
    if (options[name] === undefined) continue;
    const expected = `absent: it is for a log that is written to a ${target === 'path' ? 'stream' : 'path'}`;
    throw invalidArgument(name, expected, options[name]);
  }
}

function checkBoolean(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') throw invalidArgument(name, 'true or false', value);
}

function checkAtLeast(name: string, least: number, value: number | undefined): void {
  if (value === undefined || (isCount(value) && value >= least)) return;
  throw invalidArgument(name, `a whole number of ${least} or more, or Infinity`, value);
}

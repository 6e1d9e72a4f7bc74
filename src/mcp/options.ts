import type { GateOptions as CommonOptions } from '../adapters/index.ts';
import { isCount } from '../decide.ts';
import { invalidArgument } from '../errors.ts';
import { checkTimeout } from '../run-options.ts';
import type { AuthInfo } from './protocol.ts';

/** A call that a server was asked for, as far as it says whose it is. */
export interface SessionRequest {
  readonly tool: string;
  /** Of the transport, if it has sessions. */
  readonly sessionId: string | undefined;
  /** What the client named its run, in `_meta` under `phasegate/run`: 1 to 128 visible characters of ASCII. */
  readonly runId: string | undefined;
  /** Whom the access token is of, where the server checks one. */
  readonly authInfo: AuthInfo | undefined;
  /** What the handler is handed as its last parameter. */
  readonly extra: object;
}

/** How the gate shows refusals, and what it takes for a run of a server. */
export interface GateOptions extends CommonOptions {
  /**
   * Which calls that a server is asked for are of one run. `'meta'`: those of a session, and within it those that name the
   * same run. `'session'`: those of a session, whatever run they name. A function says it by itself, with a name for the run,
   * or `undefined` to refuse the call: for servers without sessions, and where clients may not choose.
   * @default 'meta'
   */
  readonly runFrom?: 'meta' | 'session' | ((request: SessionRequest) => string | undefined) | undefined;
  /**
   * Milliseconds without a call after which the run of a session is over, and its next call begins another: 1 to 2147483647,
   * or `Infinity`.
   * @default 600000
   */
  readonly idleMs?: number | undefined;
  /**
   * How many runs of servers there may be at once: a whole number of 1 or more, or `Infinity`. For one more, the run ends
   * that has been without a call for the longest time, of the session that has the most of them; when all are busy, the call
   * is refused.
   * @default 1000
   */
  readonly maxRuns?: number | undefined;
}

/** The names of the options that adapters of agents do not have. */
export const SESSION_OPTIONS = [
  'runFrom',
  'idleMs',
  'maxRuns',
] as const satisfies readonly (keyof GateOptions)[];

/** What the sessions of a gate are held to, checked. */
export interface SessionSettings {
  readonly runFrom: 'meta' | 'session' | ((request: SessionRequest) => string | undefined);
  readonly idleMs: number;
  readonly maxRuns: number;
}

/** @throws {PhasegateError} `invalid-argument`. */
export function readSessionSettings(options: GateOptions): SessionSettings {
  const { runFrom = 'meta', idleMs = 600_000, maxRuns = 1000 } = options;
  if (runFrom !== 'meta' && runFrom !== 'session' && typeof runFrom !== 'function') {
    throw invalidArgument('runFrom', "'meta', 'session' or a function", runFrom);
  }
  checkTimeout('idleMs', idleMs);
  if (!isCount(maxRuns) || maxRuns === 0) {
    throw invalidArgument('maxRuns', 'a whole number of 1 or more, or Infinity', maxRuns);
  }
  return { runFrom, idleMs, maxRuns };
}

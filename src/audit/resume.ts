import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { PhasegateError } from '../errors.ts';
import type { Key } from '../hash.ts';
import { type ChainKind, hashOfLine, type Link, saidHash } from './chain.ts';
import { recordIn } from './lines.ts';
import { type Ending, endsOf, partsOf, pathOfPart } from './parts.ts';

/** Where a log goes on. */
export interface Standing {
  /** Names the log, in each of its parts. */
  readonly log: string;
  /** Which part of it the present file is, from 1. */
  readonly part: number;
  readonly ending: Ending;
  /** The last record of its chain. */
  readonly last: Link | undefined;
}

/**
 * Looks where the log at a path has come to: in the file itself, or else in the part that was full before it.
 *
 * @throws {PhasegateError} `log-mismatch` when that file is chained and this log is not, or the other way round, or with another key.
 */
export function standingOf(path: string, kind: ChainKind, key: Key | undefined): Standing {
  const before = partsOf(path).at(-1);
  const part = (before ?? 0) + 1;
  const size = sizeOf(path);
  const present = size > 0 ? goOn(path, kind, key) : undefined;
  if (present !== undefined) return { ...present, part };
  const previous = before === undefined ? undefined : goOn(pathOfPart(path, before), kind, key);
  // Of what is there no line is whole.
  const ending = size > 0 ? 'cut' : 'whole';
  return { log: previous?.log ?? randomUUID(), part, ending, last: previous?.last };
}

/** Where a file has come to; `undefined` when no line of it is whole: its very first one may be cut. */
function goOn(path: string, kind: ChainKind, key: Key | undefined): Omit<Standing, 'part'> | undefined {
  const { first, last, ending } = endsOf(path);
  if (last === undefined) return undefined;
  const header: LogFields = first?.['type'] === 'log.opened' ? first : {};
  const { chain = null, log = randomUUID() } = header;
  if (chain !== kind) throw mismatch(path, chain, kind);
  const link = kind === null ? undefined : linkOf(last, key);
  if (kind !== null && link === undefined) throw unsealed(path);
  return { log: String(log), ending, last: link };
}

/** The link that a line of a chain is; `undefined` when it is none, or was changed. */
function linkOf(line: string, key: Key | undefined): Link | undefined {
  const bytes = Buffer.from(line);
  const hash = saidHash(bytes);
  const { n, prev = null }: LogFields = recordIn(line) ?? {};
  if (hash === undefined || hash !== hashOfLine(bytes, key) || typeof n !== 'number') return undefined;
  return { n, prev: prev as string | null, hash };
}

type LogFields = { readonly [name in 'log' | 'chain' | 'n' | 'prev']?: unknown };

// What is no file, such as a pipe, has no beginning.
function sizeOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() ? stats.size : 0;
}

function mismatch(path: string, got: unknown, expected: ChainKind): PhasegateError {
  const name = (kind: unknown) => (kind === null ? 'without a chain' : `with a chain (${kind})`);
  return new PhasegateError(
    'log-mismatch',
    `${path} was begun ${name(got)}, and is to go on ${name(expected)}: open it as it was begun, or move it away`,
  );
}

function unsealed(path: string): PhasegateError {
  return new PhasegateError(
    'log-mismatch',
    `The chain of ${path} cannot go on: its last record was changed, or was written with another key. ` +
      '`phasegate audit verify` tells which; move the file away to begin another',
  );
}

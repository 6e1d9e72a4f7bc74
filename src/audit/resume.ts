import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { PhasegateError } from '../errors.ts';
import { type ChainKind, hashOfLine, type Link } from './chain.ts';
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
export function standingOf(path: string, kind: ChainKind, key: string | Uint8Array | undefined): Standing {
  const before = partsOf(path).at(-1);
  if (sizeOf(path) > 0) return goOn(path, kind, key, (before ?? 0) + 1);
  if (before === undefined) return { log: randomUUID(), part: 1, ending: 'whole', last: undefined };
  const previous = goOn(pathOfPart(path, before), kind, key, before);
  return { ...previous, part: before + 1, ending: 'whole' };
}

function goOn(path: string, kind: ChainKind, key: string | Uint8Array | undefined, part: number): Standing {
  const { first, last, rest } = endsOf(path);
  const header = parse(first);
  const ours = header?.type === 'log.opened';
  const log = ours && typeof header.log === 'string' ? header.log : randomUUID();
  const chained = ours ? (header.chain ?? null) : null;
  // What lacks nothing but its newline is whole, and the newline comes with the next line.
  const wholeRest = rest !== '' && parse(rest) !== undefined;
  const ending = rest === '' ? 'whole' : wholeRest ? 'no-newline' : 'cut';
  if (first === undefined && !wholeRest) return { log, part, ending, last: undefined };
  if (chained !== kind) throw mismatch(path, chained, kind);
  if (kind === null) return { log, part, ending, last: undefined };
  const link = linkOf(wholeRest ? rest : (last ?? ''), key);
  if (link === undefined) throw unsealed(path);
  return { log, part, ending, last: link };
}

/** The link that a line of a chain is; `undefined` when it is none, or was changed. */
function linkOf(line: string, key: string | Uint8Array | undefined): Link | undefined {
  const hash = hashOfLine(line, key);
  const { n, prev = null } = parse(line) ?? {};
  return typeof hash === 'string' && typeof n === 'number'
    ? { n, prev: prev as string | null, hash }
    : undefined;
}

type LogFields = { readonly [name in 'type' | 'log' | 'chain' | 'n' | 'prev']?: unknown };

function parse(line: string | undefined): LogFields | undefined {
  try {
    return (JSON.parse(line ?? '') as LogFields | null) ?? undefined;
  } catch {
    return undefined;
  }
}

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

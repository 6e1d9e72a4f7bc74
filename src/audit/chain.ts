import { createHash, createHmac } from 'node:crypto';
import { canonicalJson } from '../canonical-json.ts';
import type { Fields } from './capture.ts';

/** How the records of a log are chained; `null` when they are not. */
export type ChainKind = 'sha256' | 'hmac-sha256' | null;

/** A record of a chain, as its line says it. */
export interface Link {
  /** Which record of the log it is, from 1. */
  readonly n: number;
  /** The hash of the record before; `null` in the first. */
  readonly prev: string | null;
  readonly hash: string;
}

/** A record as a line, and what the chain is at when it has been written. */
export interface Sealed {
  readonly line: string;
  readonly link: Link;
}

/** Makes lines of records, each bound to the one before. */
export class Chain {
  readonly #key: string | Uint8Array | undefined;
  /** The last record that was written. */
  #last: Link | undefined;

  constructor(key: string | Uint8Array | undefined, last: Link | undefined) {
    this.#key = key;
    this.#last = last;
  }

  get last(): Link | undefined {
    return this.#last;
  }

  /** The line of the next record. Say {@link advance} when it is written. */
  seal(record: Fields): Sealed {
    const n = (this.#last?.n ?? 0) + 1;
    const prev = this.#last?.hash ?? null;
    const json = canonicalJson({ ...record, n, prev });
    const hash = hashOf(json, this.#key);
    return { line: `${json.slice(0, -1)},"hash":"${hash}"}`, link: { n, prev, hash } };
  }

  advance(link: Link): void {
    this.#last = link;
  }
}

const HASH = /,"hash":"([0-9a-f]{64})"\}$/;

/**
 * Whether a line is as it was written: its hash is that of the line without it, which is canonical JSON (RFC 8785).
 *
 * @returns The hash; `undefined` when it has none, or `false` when it is another's.
 */
export function hashOfLine(line: string, key: string | Uint8Array | undefined): string | false | undefined {
  const found = HASH.exec(line.slice(-HASH_LENGTH));
  if (found === null) return undefined;
  const hash = found[1] as string;
  return hashOf(`${line.slice(0, -HASH_LENGTH)}}`, key) === hash && hash;
}

const HASH_LENGTH = ',"hash":""}'.length + 64;

/** The hash of a text, as lower-case hex: SHA-256, or with a key HMAC-SHA-256. */
export function hashOf(text: string, key: string | Uint8Array | undefined): string {
  return (key === undefined ? createHash('sha256') : createHmac('sha256', key)).update(text).digest('hex');
}

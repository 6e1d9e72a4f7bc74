import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { canonicalJson } from '../canonical-json.ts';
import type { Key } from '../hash.ts';
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
  readonly #key: Key | undefined;
  /** The last record that was written. */
  #last: Link | undefined;

  constructor(key: Key | undefined, last: Link | undefined) {
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

const HASH_LENGTH = ',"hash":""}'.length + 64;

/** The hash that a line says it has; `undefined` when it has none. */
export function saidHash(line: Buffer): string | undefined {
  const end = line.subarray(-HASH_LENGTH).toString('latin1');
  return /^,"hash":"([0-9a-f]{64})"\}$/.exec(end)?.[1];
}

/** The hash of a line, which is that of the record without it: byte for byte, so that no edit has the same. */
export function hashOfLine(line: Buffer, key: Key | undefined): string {
  return hashing(key).update(line.subarray(0, -HASH_LENGTH)).update('}').digest('hex');
}

/** The hash of a record that is canonical JSON (RFC 8785). */
function hashOf(json: string, key: Key | undefined): string {
  return hashing(key).update(json).digest('hex');
}

function hashing(key: Key | undefined): Hash | Hmac {
  return key === undefined ? createHash('sha256') : createHmac('sha256', key);
}

/** SHA-256 at once and everywhere: what platforms bring is asynchronous in browsers, and has another name in each. */
import { hmac } from '@noble/hashes/hmac.js';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { invalidArgument } from './errors.ts';

/** What signs: 16 bytes or more, as whoever has what it signed can try shorter ones until one fits. */
export type Key = string | Uint8Array;

const LEAST_BYTES = 16;

/** The SHA-256 of a text in UTF-8, in hexadecimal. */
export function sha256Hex(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** The HMAC-SHA-256 of a text in UTF-8, in hexadecimal. */
export function hmacSha256Hex(key: Key, text: string): string {
  return bytesToHex(hmac(sha256, bytesOf(key), utf8ToBytes(text)));
}

/**
 * @throws {PhasegateError} `invalid-argument` when it is no key, or is too short. A text that is too short stays out of the
 *   message: it may be a secret with a slip in it.
 */
export function checkKey(key: unknown, name = 'key'): asserts key is Key {
  if (typeof key !== 'string' && !(key instanceof Uint8Array)) throw invalidArgument(name, EXPECTED, key);
  const { length } = bytesOf(key);
  if (length < LEAST_BYTES) throw invalidArgument(name, EXPECTED, length);
}

function bytesOf(key: Key): Uint8Array {
  return typeof key === 'string' ? utf8ToBytes(key) : key;
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function equalInConstantTime(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

const EXPECTED = `a secret text or Uint8Array of ${LEAST_BYTES} bytes or more`;

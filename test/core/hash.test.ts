import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkKey, equalInConstantTime, hmacSha256Hex, sha256Hex } from '../../src/hash.ts';

const anyKey = fc.uint8Array({ minLength: 16, maxLength: 200 });

describe('hashes', () => {
  test('are those of Node', () => {
    fc.assert(
      fc.property(anyKey, fc.string({ unit: 'binary' }), (key, text) => {
        expect(sha256Hex(text)).toBe(createHash('sha256').update(text).digest('hex'));
        expect(hmacSha256Hex(key, text)).toBe(createHmac('sha256', key).update(text).digest('hex'));
      }),
    );
  });

  test('a key may be a text, which is its bytes in UTF-8', () => {
    const key = 'schlüssel, geheim';
    expect(hmacSha256Hex(key, 'x')).toBe(hmacSha256Hex(new TextEncoder().encode(key), 'x'));
  });

  test.each([undefined, null, 16, '', 'fifteen bytes..', new Uint8Array(15), [1, 2]])(
    '%s is no key',
    (key) => {
      expect(() => checkKey(key)).toThrow(/^key must be a secret text or Uint8Array of 16 bytes or more/);
    },
  );

  test('a key that is too short is not told', () => {
    expect(() => checkKey('hunter2')).toThrow(/got 7$/);
  });

  test('are compared as texts are', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }), (a, b) => {
        expect(equalInConstantTime(a, b)).toBe(a === b);
        expect(equalInConstantTime(a, a)).toBe(true);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalJson } from '../../src/canonical-json.ts';

describe('canonical JSON', () => {
  test('orders keys by their UTF-16 code units, as RFC 8785 has it', () => {
    const sorted = ['\r', '1', '10', '9', '\u0080', 'ö', '€', '😀', '\ufb33'];
    const value = Object.fromEntries(sorted.toReversed().map((key) => [key, 0]));

    expect(canonicalJson(value)).toBe(`{${sorted.map((key) => `${JSON.stringify(key)}:0`).join(',')}}`);
  });

  test('writes numbers and texts as JSON.stringify does', () => {
    expect(canonicalJson({ b: [1e21, -0, 0.1, 'é\n'], a: { d: null, c: true } })).toBe(
      '{"a":{"c":true,"d":null},"b":[1e+21,0,0.1,"é\\n"]}',
    );
  });

  test('is the same for whatever JSON says the same, and for nothing else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const text = canonicalJson(a);
        expect(canonicalJson(shuffled(JSON.parse(text)))).toBe(text);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(a)));
        if (canonicalJson(b) === text) expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(b)));
      }),
    );
  });

  test('leaves out what is undefined, and escapes half a surrogate pair', () => {
    expect(canonicalJson({ a: undefined, b: '\ud800' })).toBe('{"b":"\\ud800"}');
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, undefined, 1n, Symbol('x'), () => 0])(
    'refuses %s, which JSON cannot say',
    (value) => {
      expect(() => canonicalJson([value])).toThrow(/must be a JSON value/);
    },
  );
});

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([key, member]) => [key, shuffled(member)] as const)
      .toReversed(),
  );
}

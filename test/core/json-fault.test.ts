import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { findJsonFault } from '../../src/json-fault.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

const HERE = 'is no JSON from here on: expected';

describe('The first fault of a text that should be JSON', () => {
  test.each([
    ['', 0, `${HERE} a value, got the end of the file`],
    ['{ "a": [', 8, `${HERE} a value or "]", got the end of the file`],
    ['{ "a": 1', 8, `${HERE} "," or "}", got the end of the file`],
    ['{ "a": 1 "b": 2 }', 9, `${HERE} "," or "}", got "b"`],
    ['[1 2]', 3, `${HERE} "," or "]", got "2"`],
    ['{ "a": 1, }', 10, `${HERE} a key in double quotes, got "}"`],
    ['[1,]', 3, `${HERE} a value, got "]"`],
    ['{ "a" 1 }', 6, `${HERE} ":", got "1"`],
    ['{ "a": }', 7, `${HERE} a value, got "}"`],
    ['{ 1: 2 }', 2, `${HERE} a key in double quotes or "}", got "1"`],
    ['{ "a": tru }', 7, `${HERE} a value, got "tru"`],
    ['{ "a": 01 }', 7, `${HERE} a value, got "01"`],
    ['{ a: 1 }', 2, `${HERE} a key in double quotes or "}", got "a"`],
    ["{ 'a': 1 }", 2, `${HERE} a key in double quotes or "}", got "'a'"`],
    ['{ // why\n "a": 1 }', 2, `${HERE} a key in double quotes or "}", got "//"; JSON has no comments`],
    ['{ "a": 1 } }', 11, `${HERE} the end of the file, got "}"`],
    ['{ "a": 1 ]', 9, `${HERE} "," or "}", got "]"`],
    ['{ "a": "x }\n', 7, 'is no JSON: this text has no closing " on its line'],
    [
      '{ "a": "\\d" }',
      7,
      'is no JSON: this text has a control character in it, or an escape that JSON does not know',
    ],
    [
      '{ "a": "\t" }',
      7,
      'is no JSON: this text has a control character in it, or an escape that JSON does not know',
    ],
  ])('of %j', (text, offset, message) => {
    expect(findJsonFault(text)).toEqual({ offset, message });
  });

  test('is none where there is a byte order mark only', () => {
    expect(findJsonFault('\uFEFF{}')).toBeUndefined();
    expect(findJsonFault('\uFEFF{]')).toMatchObject({ offset: 2 });
  });

  const piece = fc.constantFrom(
    ...[
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"\\u00e9"',
      '\\',
      '1',
      '-0.5e3',
      '-',
      'true',
      'null',
      ' ',
      '\n',
      '\u00a0',
    ],
  );
  const soup = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
  const nearly = fc.tuple(fc.json(), fc.nat(), fc.nat(3), piece).map(([text, at, length, put]) => {
    const from = at % (text.length + 1);
    return text.slice(0, from) + put + text.slice(from + length);
  });

  test('is there when JSON.parse finds one, and not when it finds none; all before it is the beginning of JSON', () => {
    fc.assert(
      fc.property(fc.oneof(fc.json(), nearly, soup), (text) => {
        const fault = findJsonFault(text);
        expect(fault === undefined).toBe(parses(text));
        if (fault === undefined) return;
        expect(fault.offset).toBeLessThanOrEqual(text.length);
        // What comes before is nothing that could not go on: its only fault is that it ends.
        const before = findJsonFault(text.slice(0, fault.offset));
        if (before !== undefined) expect(before.message).toMatch(/got the end of the file$/);
      }),
      { numRuns: 3000 },
    );
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

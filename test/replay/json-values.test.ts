import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { itemsOf } from './support.ts';

const values = (text: string, piece?: number) => itemsOf(text, piece).map((item) => item.value);
const faults = (text: string, maxLength?: number) =>
  itemsOf(text, undefined, maxLength).flatMap(({ fault, line }) =>
    fault === undefined ? [] : [`${line}: ${fault}`],
  );

describe('JSON lines', () => {
  it('are a value a line, with the number of the line', () => {
    expect(itemsOf('{"a":1}\n\n  \n[2]\n"c"\n')).toEqual([
      { value: { a: 1 }, line: 1, array: null },
      { value: [2], line: 4, array: null },
      { value: 'c', line: 5, array: null },
    ]);
  });

  it('may end their lines with CRLF and need no newline at the end', () => {
    expect(values('{"a":1}\r\n\r\n{"b":2}')).toEqual([{ a: 1 }, { b: 2 }]);
  });

  it('are not split at U+2028, U+2029 or U+0085, which JSON allows in strings', () => {
    expect(values('{"a":"x\u2028y\u2029z\u0085"}\n{"b":2}\n')).toEqual([
      { a: 'x\u2028y\u2029z\u0085' },
      { b: 2 },
    ]);
  });

  it('lose no more than the line that is broken', () => {
    const items = itemsOf('{"a":1}\n{"b":\n{"c":3}\n');
    expect(items.map(({ value }) => value)).toEqual([{ a: 1 }, undefined, { c: 3 }]);
    expect(items[1]).toMatchObject({ line: 2, fault: expect.stringContaining('not JSON') });
  });

  it('are read from the second line on when the first one is cut', () => {
    expect(values('{"run":"r","to\n{"b":2}\n{"c":3}\n')).toEqual([undefined, { b: 2 }, { c: 3 }]);
    expect(values('ol":"x"}\n{"b":2}\n')).toEqual([undefined, { b: 2 }]);
  });

  it('say that the last line is cut short when it is', () => {
    expect(faults('{"a":1}\n{"b":')).toEqual([
      expect.stringMatching(/^2: the last line is cut short or broken: not JSON/),
    ]);
    expect(faults('{"a":')).toEqual([expect.stringMatching(/^1: the last line is cut short/)]);
  });

  it('pass over a line that is longer than can be read, and keep nothing of it', () => {
    const text = `{"a":1}\n${JSON.stringify('x'.repeat(100))}\n{"b":2}\n${JSON.stringify('y'.repeat(100))}`;
    expect(faults(text, 50)).toEqual([
      '2: this line is longer than 50 characters, the most that can be read',
      '4: this line is longer than 50 characters, the most that can be read',
    ]);
    expect(itemsOf(text, 7, 50).map(({ value }) => value)).toEqual([
      { a: 1 },
      undefined,
      { b: 2 },
      undefined,
    ]);
  });
});

describe('an outermost array', () => {
  it('counts as its elements, each with the line on which it begins', () => {
    expect(itemsOf('[\n {"a": 1},\n {"b":\n  [2, 3]}\n]\n')).toEqual([
      { value: { a: 1 }, line: 2, array: 0 },
      { value: { b: [2, 3] }, line: 3, array: 0 },
    ]);
  });

  it('is told from the next one', () => {
    expect(
      itemsOf('[1,2]\n[3]').map(({ value, array }: { value?: unknown; array?: number | null }) => [
        value,
        array,
      ]),
    ).toEqual([
      [1, 0],
      [2, 0],
      [3, 1],
    ]);
  });

  it('may hold nothing', () => {
    expect(itemsOf('[]')).toEqual([]);
    expect(itemsOf(' [\n] ')).toEqual([]);
  });

  it('may hold brackets, commas, quotes and backslashes in strings', () => {
    const strings = ['a]b', 'c,d', '"', '\\', '\\"', '{', '}', '\\\\"['];
    expect(values(JSON.stringify(strings))).toEqual(strings);
  });

  it('loses no more than the element that is broken', () => {
    const items = itemsOf('[{"a":1},\n{"b" 2},\n{"c":3}}, {"d":4}]');
    expect(items.map(({ value }) => value)).toEqual([{ a: 1 }, undefined, undefined, { d: 4 }]);
    expect(items.map(({ line }) => line)).toEqual([1, 2, 3, 3]);
  });

  it('says where it was cut short', () => {
    expect(faults('[{"a":1},\n {"b":\n')).toEqual([
      '2: the file ends inside the JSON value that begins here: it is cut short or broken',
    ]);
    expect(faults('\n[{"a":1},\n')).toEqual([
      '2: the file ends inside the array that begins here: it is cut short',
    ]);
  });

  it('passes over an element that is longer than can be read', () => {
    const text = `[1,"${'x'.repeat(100)}",3]`;
    expect(itemsOf(text, 9, 50).map(({ value }) => value)).toEqual([1, undefined, 3]);
  });
});

describe('a document over several lines', () => {
  it('is one value', () => {
    const value = { a: { b: ['}', 1] }, c: null };
    expect(itemsOf(JSON.stringify(value, null, 2))).toEqual([{ value, line: 1, array: null }]);
  });

  it('may be followed by others', () => {
    expect(itemsOf('{\n"a":1}\n{\n"b":2\n}').map(({ value, line }) => [value, line])).toEqual([
      [{ a: 1 }, 1],
      [{ b: 2 }, 3],
    ]);
  });

  it('names the line that is broken', () => {
    expect(faults('{\n "a": 1,\n "b" 2\n}')).toEqual([expect.stringMatching(/^3: not JSON/)]);
  });

  it('is not read on from something that is no JSON', () => {
    expect(values('{\n"a":1}\nhello {"b":2}')).toEqual([{ a: 1 }, undefined]);
    expect(faults('{\n"a":1}\nhello {"b":2}')).toEqual([
      '3: expected a JSON object or array here; the rest of the file is not read',
    ]);
  });
});

describe('whatever the pieces in which a text comes', { timeout: 60_000 }, () => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
  const piece = fc.integer({ min: 1, max: 9 });
  const parsed = (text: string, size: number) => itemsOf(text, size).map((item) => item.value);

  it('JSON lines give the values', () => {
    const objects = fc.array(fc.record({ a: json }), { minLength: 1 });
    fc.assert(
      fc.property(objects, piece, (all, size) => {
        expect(parsed(all.map((value) => JSON.stringify(value)).join('\n'), size)).toEqual(all);
      }),
    );
  });

  it('an array gives its elements, however it is laid out', () => {
    fc.assert(
      fc.property(fc.array(json), piece, fc.integer({ min: 0, max: 2 }), (all, size, indent) => {
        expect(parsed(JSON.stringify(all, null, indent), size)).toEqual(all);
      }),
    );
  });

  it('a document gives itself, however it is laid out', () => {
    fc.assert(
      fc.property(
        fc.record({ a: json, b: json }),
        piece,
        fc.integer({ min: 0, max: 2 }),
        (value, size, indent) => {
          expect(parsed(JSON.stringify(value, null, indent), size)).toEqual([value]);
        },
      ),
    );
  });

  it('no text makes the reader throw or say different things', () => {
    const noise = fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ',', ':', '1', '\n', ' ', 'x'),
    });
    fc.assert(
      fc.property(noise, piece, (text, size) => {
        expect(itemsOf(text, size)).toEqual(itemsOf(text));
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { PeekableSource } from '../../src/replay/source.ts';
import { callsOf, faultsOf, lines, stream } from './support.ts';

describe('the format of a file', () => {
  const call = { type: 'call.started', run: 'r', tool: 'a' };

  it('is found by what the file holds, whatever it is called', async () => {
    expect(await callsOf(lines(call))).toEqual(['a none']);
    expect(await callsOf(`\n\n  ${lines(call)}`)).toEqual(['a none']);
  });

  it('is found behind lines that are broken', async () => {
    expect(await callsOf(`{"type":"call.sta\n${lines(call)}`)).toEqual(['a none']);
    expect(await faultsOf(`{"type":"call.sta\n${lines(call)}`)).toEqual([
      expect.stringMatching(/^1: not JSON/),
    ]);
  });

  it('is none where a value is like nothing that is known, be it among messages', async () => {
    const message = { role: 'user', content: 'hello' };
    for (const content of [
      lines({ level: 'info' }, call),
      lines(message, { level: 'info' }),
      '[1, 2]',
      '"x"',
      '{}',
    ]) {
      expect(await faultsOf(content)).toEqual([expect.stringContaining('no known format holds ')]);
    }
    expect(await faultsOf(lines(message, { level: 'info' }))).toEqual([
      expect.stringMatching(/^2: .*"level"/),
    ]);
  });

  it('is none where nothing is JSON, and the first line says why', async () => {
    const [fault] = await faultsOf('hello\nworld\n'.repeat(1000));
    expect(fault).toMatch(/^1: not JSON: .* Known are: phasegate, claude-code, .*, langchain;/);
  });

  it('is none of a file that is empty, or blank', async () => {
    for (const content of ['', ' \n\n\t\n']) {
      expect(await faultsOf(content)).toEqual([expect.stringMatching(/^-: the file is empty\. Known are: /)]);
    }
  });
});

describe('a source', () => {
  async function textOf(pieces: AsyncIterable<string>): Promise<string> {
    let text = '';
    for await (const piece of pieces) text += piece;
    return text;
  }

  it('can be looked at, and then be read from its beginning, as values, text or bytes', async () => {
    const content = lines({ a: 1 }, { b: 2 }, { c: 'ü' });
    const looked = async () => {
      const source = new PeekableSource('x', stream(content, { piece: 5 }).bytes);
      for await (const items of source.peek()) if (items.length > 0) break;
      return source;
    };
    const values: unknown[] = [];
    for await (const items of (await looked()).values()) values.push(...items.map(({ value }) => value));
    expect(values).toEqual([{ a: 1 }, { b: 2 }, { c: 'ü' }]);
    expect(await textOf((await looked()).text())).toBe(content);
    const bytes: Uint8Array[] = [];
    for await (const chunk of (await looked()).bytes()) bytes.push(chunk);
    expect(Buffer.concat(bytes).toString()).toBe(content);
  });

  it('leaves out lines that are not wanted, before they are parsed', async () => {
    const source = new PeekableSource('x', stream(`${lines({ a: 1 })}# note\n\n${lines({ b: 2 })}`).bytes);
    const found: unknown[] = [];
    for await (const items of source.values((line) => line.startsWith('#'))) found.push(...items);
    expect(found).toEqual([
      { value: { a: 1 }, line: 1, array: null },
      { value: { b: 2 }, line: 4, array: null },
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { readZip, type ZipLimits, type ZippedFile } from '../../../src/replay/formats/zip.ts';
import { callsOf, faultsOf, lines, replayed, stream } from '../support.ts';
import { type ZipEntry, zipOf } from '../zip.ts';
import { formatNamed } from './recordings.ts';

const asks = (...calls: readonly (readonly [id: string, tool: string])[]) => ({
  role: 'assistant',
  content: '',
  tool_calls: calls.map(([id, tool]) => ({ id, function: tool, arguments: { cmd: 'ls' }, type: 'function' })),
});
const answers = (tool_call_id: string, error?: unknown) => ({
  role: 'tool',
  content: 'Error: said by a tool that ended well',
  tool_call_id,
  error,
});
const sample = (id: string | number, ...messages: readonly object[]) => ({
  id,
  epoch: 1,
  input: '',
  messages,
});
const log = (...samples: readonly unknown[]) => ({
  version: 2,
  status: 'success',
  eval: { task: 't' },
  samples,
});
const file = (name: string, value: unknown, more: Partial<ZipEntry> = {}): ZipEntry => ({
  name: `samples/${name}_epoch_1.json`,
  text: typeof value === 'string' ? value : JSON.stringify(value),
  ...more,
});

describe('a log of Inspect', () => {
  const one = sample(
    7,
    { role: 'user', content: 'x' },
    asks(['1', 'a'], ['2', 'b']),
    answers('1'),
    asks(['3', 'c']),
    answers('3', { type: 'timeout', message: 'm' }),
  );

  it.each([
    ['JSON', JSON.stringify(log(one), null, 1)],
    ['a zip', zipOf({ name: 'header.json', text: '{}' }, file('7', one))],
    ['a zip of files that are not packed', zipOf(file('7', one, { method: 0 }))],
    ['a sample', JSON.stringify(one)],
  ])('is a run for each sample: %s', async (_, content) => {
    const { reports, faults } = await replayed(content);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ run: '7.1', calls: 3, failed: 1 }]);
    expect(await callsOf(content)).toEqual(['a ok', 'b none', 'c error']);
  });

  it('may have no samples yet', async () => {
    const { status, eval: task } = log();
    expect(await faultsOf(JSON.stringify({ status, eval: task }))).toEqual([]);
    expect(await faultsOf(zipOf({ name: 'header.json', text: '{}' }))).toEqual([
      expect.stringContaining('the zip holds no samples/*.json'),
    ]);
  });

  it('may hold numbers that JSON does not have', async () => {
    const text = JSON.stringify({ ...one, scores: [0, 1, 2], note: 'NaN \\" Infinity' }).replace(
      '[0,1,2]',
      '[NaN,-Infinity,Infinity]',
    );
    expect(await callsOf(zipOf(file('7', text)))).toHaveLength(3);
  });

  it('tells what is no sample, and reads the rest', async () => {
    const content = log({ id: 1 }, sample(2, { content: 'no role' } as object, asks(['1', 'a'])));
    expect(await faultsOf(lines(content, { x: 1 }))).toEqual([
      '1: expected a sample with "epoch" and "messages", got an object with "id"',
      '1: expected a message with a role, got an object with "content"',
      '2: expected a log with "eval" and "samples", or a sample, got an object with "x"',
    ]);
    expect(await callsOf(lines(content))).toEqual(['a none']);
  });
});

describe('a zip', () => {
  const good = sample('good', asks(['1', 'a']), answers('1'));

  it.each([
    ['a file that is no JSON', file('x', '{"id":'), /^-: samples\/x_epoch_1.json: not JSON: /],
    [
      'a file that is no sample',
      file('x', [1]),
      'expected a sample with "epoch" and "messages", got an array of a number',
    ],
    ['a file that is larger than the index says', file('x', good, { size: 10 }), 'it cannot be unpacked'],
    [
      'a file that is smaller than the index says',
      file('x', good, { size: 5000 }),
      'and the index of the zip says 5000',
    ],
    [
      'a file of a size that nobody can hold',
      file('x', good, { size: 2 ** 31 }),
      'it has 2147483648 bytes, and 268435456 are the most',
    ],
    ['a file that is packed in an unknown way', file('x', good, { method: 99 }), 'it is packed by method 99'],
    ['a file that is not Zstandard', file('x', good, { method: 93 }), 'and the index of the zip says'],
    ['an encrypted file', file('x', good, { flags: 1 }), 'it is encrypted'],
  ])('with %s is read up to it, which is told', async (_, entry, fault) => {
    const zip = zipOf(entry, file('good', good));
    const faults = await faultsOf(zip);
    expect(faults).toEqual([
      typeof fault === 'string' ? expect.stringContaining(fault) : expect.stringMatching(fault),
    ]);
    expect(await callsOf(zip)).toEqual(['a ok']);
  });

  it('of two files with the same name holds the last', async () => {
    const zip = zipOf(file('x', sample('x', asks(['1', 'old']))), file('x', good));
    expect(await callsOf(zip)).toEqual(['a ok']);
  });

  it('in which files lie in each other is not read', async () => {
    const zip = zipOf(file('x', good), file('y', good, { again: true }));
    expect(await faultsOf(zip)).toEqual([expect.stringContaining('files of the zip lie in each other')]);
  });

  it('whose index is broken is read up to there, which is told', async () => {
    const zip = zipOf(file('good', good), file('x', good));
    const broken = Uint8Array.from(zip);
    broken[zip.length - 22 - 46 - file('x', good).name.length] = 0;
    expect(await faultsOf(broken)).toEqual([expect.stringContaining('the index of the zip: ')]);
    expect(await callsOf(broken)).toEqual(['a ok']);
  });

  it('that is cut short is not read', async () => {
    const zip = zipOf(file('x', good));
    expect(await faultsOf(zip.subarray(0, zip.length - 30))).toEqual([
      expect.stringContaining('the zip cannot be read: '),
    ]);
  });

  it('may come in pieces of any size', async () => {
    const zip = zipOf(file('x', good));
    const { reports } = await replayed([stream(zip, { piece: 1 })]);
    expect(reports).toMatchObject([{ calls: 1 }]);
  });

  it('is named a log of Inspect, or its content is told to be none', async () => {
    expect(await faultsOf('{"messages":[]}', formatNamed('inspect'))).toEqual([
      expect.stringContaining('expected a log'),
    ]);
  });

  const read = async (zip: Uint8Array, limits: Partial<ZipLimits>) => {
    const files: ZippedFile[] = [];
    const all = { zip: 2 ** 20, file: 2 ** 20, files: 100, ...limits };
    for await (const one of readZip(stream(zip).bytes, /./, all)) files.push(one);
    return files;
  };

  it('is held, and unpacked, to a limit', async () => {
    const zip = zipOf(file('x', 'x'.repeat(1000)), file('y', 'y'));
    expect((await read(zip, {})).map(({ text }) => text?.length)).toEqual([1000, 1]);
    expect((await read(zip, { file: 999 })).map(({ fault }) => fault)).toEqual([
      'it cannot be unpacked: it has 1000 bytes, and 999 are the most that are read',
      undefined,
    ]);
    await expect(read(zip, { zip: zip.length - 1 })).rejects.toThrow('the zip is larger than');
    await expect(read(zip, { files: 1 })).rejects.toThrow('the zip holds more than 1 files');
  });
});

import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type AuditLogOptions, auditLog } from '../../src/audit/index.ts';
import { createEnforcement } from '../../src/index.ts';
import { folderWith, interruptedAfter, run } from './support.ts';

/** Writes a chained log into the present folder. @returns Its last hash. */
async function log(name: string, options: AuditLogOptions = {}, runs = 3): Promise<string> {
  const enforcement = createEnforcement();
  const log = auditLog(name, { chain: true, ...options });
  enforcement.on(log);
  for (let i = 0; i < runs; i++) await enforcement.withRun((run) => run.callTool('search', {}, () => {}));
  await log.close();
  return log.head?.hash ?? '';
}

function change(name: string, from: string, to: string): void {
  writeFileSync(name, readFileSync(name, 'utf8').replace(from, to));
}

describe('phasegate audit verify', () => {
  it('says that every record is as it was written, the last hash, and what it does not show', async () => {
    folderWith({});
    const head = await log('runs.jsonl');
    const { code, out, err } = await run(['audit', 'verify', 'runs.jsonl']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(`✓ runs.jsonl: 26 records, every one as it was written
    last hash  ${head} (record 26)

This does not show that the end was cut off, nor that somebody who can write the
file wrote all of it anew. Keep the last hash elsewhere, and give it with
--expect-head.
`);
  });

  it('shows each fault with its line, and ends with 1', async () => {
    folderWith({});
    await log('runs.jsonl');
    change('runs.jsonl', '"tool":"search"', '"tool":"delete"');
    const { code, out } = await run(['audit', 'verify', 'runs.jsonl']);
    expect(code).toBe(1);
    expect(out).toContain('✗ runs.jsonl: 26 records, 1 fault\n');
    expect(out).toContain('\n  edited  runs.jsonl:5  record 5 was changed after it was written\n');
  });

  it('shows the first of very many faults', async () => {
    folderWith({});
    await log('runs.jsonl', {}, 10);
    writeFileSync('runs.jsonl', readFileSync('runs.jsonl', 'utf8').replaceAll('"run":"', '"run":"x'));
    const { out } = await run(['audit', 'verify', 'runs.jsonl']);
    expect(out.match(/ {2}edited/g)).toHaveLength(20);
    expect(out).toContain('\n  and 60 more\n');
  });

  it('compares with a hash that was kept', async () => {
    folderWith({});
    const head = await log('runs.jsonl');
    await log('runs.jsonl');
    expect((await run(['audit', 'verify', 'runs.jsonl', '--expect-head', head])).code).toBe(0);
    const other = 'ab'.repeat(32);
    const { code, out } = await run(['audit', 'verify', 'runs.jsonl', '--expect-head', other]);
    expect(code).toBe(1);
    expect(out).toContain(`head  runs.jsonl  no record has the hash ${other}`);
    const slip = await run(['audit', 'verify', 'runs.jsonl', '--expect-head', 'abc']);
    expect(slip.code).toBe(2);
    expect(slip.err).toContain(
      '--expect-head must be a hash: 64 hexadecimal digits in lower case, got "abc"',
    );
  });

  it('takes the files of a log in any order', async () => {
    folderWith({});
    await log('runs.jsonl', { maxBytes: 2000 }, 10);
    const { code, out } = await run(['audit', 'verify', 'runs.jsonl', 'runs.*.jsonl']);
    expect(code).toBe(0);
    expect(out).toMatch(/^✓ runs\.1\.jsonl and \d+ files more: /);
  });

  it('needs the key of a log that was written with one', async () => {
    folderWith({ key: 'the key of the log\n', blank: '\n' });
    await log('runs.jsonl', { chain: { key: 'the key of the log' } });
    const { code, out } = await run(['audit', 'verify', 'runs.jsonl', '--key-file', 'key']);
    expect(code).toBe(0);
    expect(out).toContain('somebody who has the key');
    const without = await run(['audit', 'verify', 'runs.jsonl']);
    expect(without).toMatchObject({
      code: 2,
      err: expect.stringContaining('error (log-mismatch): runs.jsonl was written with a key'),
    });
    const blank = await run(['audit', 'verify', 'runs.jsonl', '--key-file', 'blank']);
    expect(blank).toEqual({
      code: 2,
      out: '',
      err: 'error (file-unreadable): The key blank is empty. Name the file that holds it\n',
    });
    const missing = await run(['audit', 'verify', 'runs.jsonl', '--key-file', 'nokey']);
    expect(missing).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        'error (file-unreadable): The key nokey cannot be read: there is no such file.',
      ),
    });
  });

  it('prints an object a log with --json', async () => {
    folderWith({});
    const hash = await log('runs.jsonl');
    await log('other.jsonl');
    change('other.jsonl', '"tool":"search"', '"tool":"delete"');
    const { code, out } = await run(['audit', 'verify', 'runs.jsonl', 'other.jsonl', '--json']);
    expect(code).toBe(1);
    const [good, bad] = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(good).toMatchObject({
      files: ['runs.jsonl'],
      records: 26,
      head: { n: 26, hash },
      closed: true,
      faults: [],
    });
    expect(bad.faults).toEqual([
      { file: 'other.jsonl', line: 5, kind: 'edited', message: expect.any(String) },
    ]);
  });

  it('ends with 2 for what is not there, or has no chain', async () => {
    folderWith({ 'plain.jsonl': '{"type":"run.started","run":"r"}\n' });
    const missing = await run(['audit', 'verify', 'no*.jsonl']);
    expect(missing).toEqual({ code: 2, out: '', err: 'unreadable: no*.jsonl: no file is named like that\n' });
    const plain = await run(['audit', 'verify', 'plain.jsonl']);
    expect(plain).toMatchObject({ code: 2, err: expect.stringContaining('was written without a chain') });
    expect((await run(['audit', 'verify'])).code).toBe(2);
  });

  it('verifies the others where a file cannot be read, and ends with 2', async () => {
    folderWith({});
    await log('one.jsonl');
    await log('two.jsonl');
    change('two.jsonl', '"tool":"search"', '"tool":"delete"');
    const { code, out, err } = await run(['audit', 'verify', 'one.jsonl', 'nowhere.jsonl', '.', 'two.jsonl']);
    expect(code).toBe(2);
    expect(out).toMatch(/^✓ one\.jsonl: 26 records.*\n✗ two\.jsonl: 26 records, 1 fault\n/s);
    expect(err.split('\n')).toEqual([
      'unreadable: nowhere.jsonl: there is no such file',
      expect.stringMatching(/^unreadable: \.: this is a directory/),
      '',
    ]);
  });

  it('tells, when it is interrupted, what it had read', async () => {
    folderWith({});
    await log('runs.jsonl');
    const { code, out } = await run(
      ['audit', 'verify', '-'],
      interruptedAfter(readFileSync('runs.jsonl', 'utf8')),
    );
    expect(code).toBe(130);
    expect(out).toContain('✓ stdin: 26 records');
    expect(out).toMatch(/\ninterrupted: this is what was read until then\n$/);
  });

  it('shows nothing of a record as it is', async () => {
    folderWith({ 'evil\u001b[31m.jsonl': 'x\n' });
    const { out } = await run(['audit', 'verify', 'evil\u001b[31m.jsonl']);
    expect(out).not.toContain('\u001b');
  });

  it('has a help with examples', async () => {
    const { code, out } = await run(['audit', 'verify', '--help']);
    expect(code).toBe(0);
    expect(out).toContain('$ phasegate audit verify runs.jsonl\n');
    expect(out).toContain('A chain does not show that its end was cut off');
  });
});

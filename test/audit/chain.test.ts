import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AuditFault,
  type AuditLogOptions,
  auditLog,
  type VerifyAuditOptions,
  verifyAudit,
} from '../../src/audit/index.ts';
import { partsOf, pathOfPart } from '../../src/audit/parts.ts';
import { canonicalJson } from '../../src/canonical-json.ts';
import { createEnforcement } from '../../src/index.ts';
import { newPath, recordsOf } from './support.ts';

/** Writes a chained log of so many runs. @returns Its lines. */
async function chained(path: string, runs = 3, options: AuditLogOptions = {}): Promise<string[]> {
  const enforcement = createEnforcement();
  const log = auditLog(path, { chain: true, ...options });
  enforcement.on(log);
  for (let i = 0; i < runs; i++) {
    await enforcement.withRun((run) => run.callTool('search', { i }, () => i), { id: `r${i}` });
  }
  await log.close();
  return linesIn(path);
}

function linesIn(path: string): string[] {
  return readFileSync(path, 'utf8').trimEnd().split('\n');
}

async function verified(files: readonly string[], options: Omit<VerifyAuditOptions, 'files'> = {}) {
  const faults: AuditFault[] = [];
  const reports = await verifyAudit({ files, onFault: (fault) => faults.push(fault), ...options });
  return { reports, faults, found: faults.map(({ line, kind }) => `${line}: ${kind}`) };
}

/** What is found in a log whose lines are changed like that. */
async function foundIn(change: (lines: string[]) => readonly string[]): Promise<string[]> {
  const path = newPath();
  const lines = change(await chained(path));
  writeFileSync(path, `${lines.join('\n')}\n`);
  return (await verified([path])).found;
}

/** An edit by somebody who makes the hash of the record anew. */
function forged(line: string, change: (record: { [name: string]: unknown }) => void): string {
  const { hash: _, ...record } = JSON.parse(line) as { [name: string]: unknown };
  change(record);
  const json = canonicalJson(record);
  return `${json.slice(0, -1)},"hash":"${createHash('sha256').update(json).digest('hex')}"}`;
}

describe('A chained log', () => {
  it('has in each record its number, the hash of the one before, and that of its own canonical JSON', async () => {
    const path = newPath();
    await chained(path);
    let prev: unknown = null;
    let n = 0;
    for (const { hash, ...record } of recordsOf(path)) {
      n += 1;
      expect(record).toMatchObject({ n, prev });
      expect(hash).toBe(createHash('sha256').update(canonicalJson(record)).digest('hex'));
      prev = hash;
    }
    const { reports } = await verified([path]);
    expect(reports).toEqual([
      {
        files: [path],
        records: n,
        first: 1,
        head: { n, hash: prev },
        lost: 0,
        cut: 0,
        closed: true,
        keyed: false,
        faults: 0,
      },
    ]);
  });

  it('tells its head while it is written', async () => {
    const path = newPath();
    const log = auditLog(path, { chain: true });
    expect(log.head).toBeNull();
    const enforcement = createEnforcement();
    enforcement.on(log);
    await enforcement.withRun(() => {});
    expect(log.head).toEqual((await verified([path])).reports[0]?.head);
  });

  it('goes on after a restart', async () => {
    const path = newPath();
    await chained(path);
    await chained(path);
    const { found, reports } = await verified([path]);
    expect(found).toEqual([]);
    expect(reports[0]?.records).toBe(recordsOf(path).length);
  });

  it('goes on after a crash that cut its last line, says so, and is no log that was changed', async () => {
    for (let cut = 1; cut < 400; cut += 7) {
      const path = newPath();
      const size = Buffer.byteLength(`${(await chained(path, 1)).join('\n')}\n`);
      truncateSync(path, size - cut);
      const { found, reports } = await verified([path]);
      expect(found).toEqual([]);
      expect(reports[0]?.closed).toBe(cut === 1);
      await chained(path, 1);
      const again = await verified([path]);
      expect(again.found).toEqual([]);
      expect(again.reports[0]).toMatchObject({ closed: true, cut: reports[0]?.cut });
    }
  });
});

describe('A chained log whose process dies again and again, at any byte', { timeout: 60_000 }, () => {
  it('goes on each time, as one log, and verifies', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3000), { minLength: 1, maxLength: 5 }), async (crashes) => {
        const path = newPath();
        for (const cut of crashes) {
          // What stood there before a process began stays: it only appends.
          const before = existsSync(path) ? readFileSync(path).length : 0;
          await chained(path, 1);
          const { length } = readFileSync(path);
          truncateSync(path, Math.max(before, length - cut));
        }
        await chained(path, 1);
        const { found, reports } = await verified([path]);
        expect(found).toEqual([]);
        expect(reports).toMatchObject([{ first: 1, closed: true }]);
        const headers = linesIn(path).filter((line) => line.includes('"log.opened"') && line.endsWith('}'));
        expect(new Set(headers.map((line) => JSON.parse(line).log)).size).toBe(1);
      }),
      { numRuns: 100 },
    );
  });

  it('goes on where two lines in a row were cut', async () => {
    const path = newPath();
    await chained(path, 1);
    appendFileSync(path, '{"type":"lo\n{"ty');
    expect((await verified([path])).found).toEqual([]);
    await chained(path, 1);
    const { found, reports } = await verified([path]);
    expect(found).toEqual([]);
    expect(reports).toMatchObject([{ records: 20, cut: 2, closed: true }]);
  });
});

describe('Verifying finds', () => {
  it.each<[string, (lines: string[]) => readonly string[], string[]]>([
    ['nothing in a log that nobody has changed', (lines) => lines, []],
    ['an edit', (lines) => lines.with(4, String(lines[4]).replace('search', 'delete')), ['5: edited']],
    [
      'an edit of the last record',
      (lines) => lines.with(-1, String(lines.at(-1)).replace('"time":1', '"time":2')),
      [`${3 * 8 + 2}: edited`],
    ],
    [
      'an edit whose hash was made anew',
      (lines) =>
        lines.with(
          4,
          forged(String(lines[4]), (record) => {
            record['tool'] = 'delete';
          }),
        ),
      ['6: replaced'],
    ],
    ['a line that was removed', (lines) => lines.toSpliced(4, 1), ['5: missing']],
    ['several lines that were removed', (lines) => lines.toSpliced(4, 3), ['5: missing']],
    ['the first line removed', (lines) => lines.slice(1), ['1: missing']],
    [
      'two lines swapped',
      (lines) => lines.with(4, String(lines[5])).with(5, String(lines[4])),
      ['5: missing', '6: moved'],
    ],
    ['a line twice', (lines) => lines.toSpliced(4, 0, String(lines[4])), ['6: repeated']],
    [
      'a line put in that has no hash',
      (lines) => lines.toSpliced(4, 0, '{"type":"call.started","run":"r0","tool":"x"}'),
      ['5: foreign'],
    ],
    ['a line put in that is no JSON', (lines) => lines.toSpliced(4, 0, 'nothing'), ['5: foreign']],
    ['an empty line', (lines) => lines.toSpliced(4, 0, ''), ['5: foreign']],
    [
      'a record put in with a hash of its own',
      (lines) =>
        lines.toSpliced(
          4,
          0,
          forged(String(lines[3]), (record) => {
            record['n'] = 5;
          }),
        ),
      ['5: replaced', '6: repeated', '7: replaced'],
    ],
    [
      'a record that was only written in another way',
      (lines) => lines.with(4, String(lines[4]).replace(':', ': ')),
      ['5: edited'],
    ],
    [
      'a name that is there twice',
      (lines) => lines.with(4, String(lines[4]).replace('{', '{"tool":"delete",')),
      ['5: edited'],
    ],
    [
      'all of several faults',
      (lines) => lines.with(2, String(lines[2]).replace('r0', 'r9')).toSpliced(8, 1),
      ['3: edited', '9: missing'],
    ],
  ])('%s', async (_, change, expected) => {
    expect(await foundIn(change)).toEqual(expected);
  });

  it('any byte that is another, any line that is gone, and any two that changed places', async () => {
    const path = newPath();
    const text = `${(await chained(path, 2)).join('\n')}\n`;
    const bytes = Buffer.from(text);
    const lines = text.trimEnd().split('\n');
    const index = fc.nat();
    await fc.assert(
      fc.asyncProperty(index, fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const changed = Buffer.from(bytes);
        // The newline behind the last record is no part of any.
        const place = at % (bytes.length - 1);
        changed[place] = (changed[place] as number) ^ by;
        writeFileSync(path, changed);
        expect((await verified([path])).found).not.toEqual([]);
      }),
      { numRuns: 300 },
    );
    await fc.assert(
      fc.asyncProperty(index, index, fc.boolean(), async (a, b, swap) => {
        const [x, y] = [a % lines.length, b % lines.length];
        const last = lines.length - 1;
        // To cut off the end is what a chain does not show.
        fc.pre(swap ? x !== y : x !== last);
        const changed = swap
          ? lines.with(x, String(lines[y])).with(y, String(lines[x]))
          : lines.toSpliced(x, 1);
        writeFileSync(path, `${changed.join('\n')}\n`);
        expect((await verified([path])).found).not.toEqual([]);
      }),
      { numRuns: 200 },
    );
  });

  it('not that the end was cut off; but that a record is gone whose hash was kept', async () => {
    const path = newPath();
    const lines = await chained(path);
    const [full] = (await verified([path])).reports;
    const kept = full?.head?.hash as string;
    expect((await verified([path], { expectHead: kept })).found).toEqual([]);
    writeFileSync(path, `${lines.slice(0, -4).join('\n')}\n`);
    expect((await verified([path])).found).toEqual([]);
    const { found, reports } = await verified([path], { expectHead: kept });
    expect(found).toEqual(['null: head']);
    expect(reports[0]?.faults).toBe(1);
  });

  it('a record put in before a line that has no end', async () => {
    const path = newPath();
    await chained(path, 1);
    appendFileSync(path, '{"type":"run.started","run":"x"}\n{"ty');
    expect((await verified([path])).found).toEqual(['11: foreign']);
  });

  it('the beginning removed, up to where the log was opened again', async () => {
    const path = newPath();
    const { length } = await chained(path, 1);
    const lines = await chained(path, 1);
    writeFileSync(path, `${lines.slice(length).join('\n')}\n`);
    expect((await verified([path])).found).toEqual(['1: missing']);
  });

  it('a file of several that is gone, also where another log stands in its place', async () => {
    const [path, other] = [newPath(), newPath()];
    await chained(path, 20, { maxBytes: 4096 });
    await chained(other);
    const parts = [...partsOf(path).map((part) => pathOfPart(path, part)), path];
    const { found, reports } = await verified(parts.with(1, other));
    expect(found).toEqual(['1: missing']);
    expect(reports).toMatchObject([{ files: parts.toSpliced(1, 1) }, { files: [other] }]);
  });

  it('a log that was emptied', async () => {
    const path = newPath();
    writeFileSync(path, '');
    expect((await verified([path])).found).toEqual(['null: empty']);
  });
});

describe('A log with a key', () => {
  it('is verified with it, and with no other', async () => {
    const path = newPath();
    await chained(path, 2, { chain: { key: 'the key of the log' } });
    expect((await verified([path], { key: 'the key of the log' })).found).toEqual([]);
    expect((await verified([path], { key: Buffer.from('the key of the log') })).reports[0]?.keyed).toBe(true);
    const { faults } = await verified([path], { key: 'another key of one' });
    expect(faults[0]?.message).toMatch(/, or the key is another$/);
    await expect(verified([path])).rejects.toMatchObject({ code: 'log-mismatch' });
  });

  it('cannot be written anew without it', async () => {
    const path = newPath();
    const lines = await chained(path, 2, { chain: { key: 'the key of the log' } });
    writeFileSync(
      path,
      `${lines
        .with(
          4,
          forged(String(lines[4]), () => {}),
        )
        .join('\n')}\n`,
    );
    const { found } = await verified([path], { key: 'the key of the log' });
    expect(found).toContain('5: edited');
    // Nor as a log that has none.
    const plain = newPath();
    await chained(plain);
    await expect(verified([plain], { key: 'the key of the log' })).rejects.toMatchObject({
      code: 'log-mismatch',
    });
  });
});

describe('Who else writes to a chained log', () => {
  it('is noticed, and the chain does not fork', async () => {
    const path = newPath();
    const faults: Error[] = [];
    const onFault = (error: Error) => faults.push(error);
    const [first, second] = [
      auditLog(path, { chain: true, onFault }),
      auditLog(path, { chain: true, onFault }),
    ];
    for (const log of [first, second, first]) {
      const enforcement = createEnforcement();
      const off = enforcement.on(log);
      await enforcement.withRun(() => {});
      off();
    }
    expect([first.lost, second.lost]).toEqual([0, 3]);
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringContaining('was changed by someone else'),
    ]);
    expect((await verified([path])).found).toEqual([]);
  });

  it('is noticed when it appends anything', async () => {
    const path = newPath();
    const log = auditLog(path, { chain: true, onError: 'refuse', onFault: () => {} });
    const enforcement = createEnforcement();
    enforcement.on(log);
    const run = enforcement.beginRun();
    appendFileSync(path, 'anything\n');
    await expect(run.callTool('search', {}, () => {})).rejects.toMatchObject({ code: 'observer-failed' });
  });
});

describe('What is given to be verified', () => {
  it('may be several logs, each of which is reported', async () => {
    const [a, b] = [newPath(), newPath()];
    await chained(a, 1);
    await chained(b, 2);
    const { reports, found } = await verified([a, b]);
    expect(found).toEqual([]);
    expect(reports.map(({ files }) => files)).toEqual([[a], [b]]);
  });

  it('is a log with a chain, that can be read', async () => {
    const path = newPath();
    await chained(path, 1, { chain: false });
    await expect(verified([path])).rejects.toMatchObject({ code: 'log-mismatch' });
    await expect(verified(['/nowhere/runs.jsonl'])).rejects.toMatchObject({ code: 'file-unreadable' });
    await expect(verifyAudit({ files: path })).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  it('takes no key that no log was written with', async () => {
    const path = newPath();
    await chained(path, 2);
    await expect(verifyAudit({ files: [path], key: '' })).rejects.toThrow(
      /key must be a secret text .*, got 0/,
    );
  });

  it('has no option that nobody knows: a slip would verify less', async () => {
    const options = { files: [newPath()], expecthead: '0'.repeat(64) };
    await expect(verifyAudit(options)).rejects.toThrow('There is no option "expecthead" of verifyAudit');
  });
});

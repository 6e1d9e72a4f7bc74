import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type AuditLogOptions, auditLog, verifyAudit } from '../../src/audit/index.ts';
import { createEnforcement } from '../../src/index.ts';
import { newPath, recordsOf } from './support.ts';

async function logged(path: string, runs: number, options: AuditLogOptions = {}) {
  const faults: Error[] = [];
  const log = auditLog(path, { maxBytes: 4096, onFault: (error) => faults.push(error), ...options });
  const enforcement = createEnforcement();
  enforcement.on(log);
  for (let i = 0; i < runs; i++) await enforcement.withRun((run) => run.callTool('search', {}, () => {}));
  await log.close();
  return { log, faults };
}

/** The files of a log, oldest first. */
function filesOf(path: string): string[] {
  const number = (name: string) => Number(/\.(\d+)\.jsonl$/.exec(name)?.[1] ?? Number.POSITIVE_INFINITY);
  return readdirSync(dirname(path))
    .filter((name) => name.endsWith('.jsonl'))
    .sort((a, b) => number(a) - number(b))
    .map((name) => join(dirname(path), name));
}

const eventsOf = (files: readonly string[]) =>
  files.flatMap((file) => recordsOf(file)).filter(({ type }) => !type.startsWith('log.'));

describe('A log that is written to files of a size', () => {
  it('loses no record, and each file says which part of which log it is', async () => {
    const path = newPath();
    const { log, faults } = await logged(path, 30);
    const files = filesOf(path);
    expect(files.length).toBeGreaterThan(4);
    expect(files.at(-1)).toBe(path);
    expect(eventsOf(files)).toHaveLength(30 * 8);
    expect([log.lost, faults]).toEqual([0, []]);
    const headers = files.map((file) => recordsOf(file)[0]);
    expect(headers.map((header) => header?.['part'])).toEqual(files.map((_, i) => i + 1));
    expect(new Set(headers.map((header) => header?.['log'])).size).toBe(1);
    // Whoever fills a file ends it with the record that fills it.
    for (const file of files.slice(0, -1)) expect(statSync(file).size).toBeLessThan(4096 + 400);
  });

  it('has one chain through all of them, also after a restart', async () => {
    const path = newPath();
    await logged(path, 20, { chain: true });
    await logged(path, 20, { chain: true });
    const files = filesOf(path);
    const [report, ...others] = await verifyAudit({ files });
    expect(others).toEqual([]);
    expect(report).toMatchObject({ files, faults: 0, first: 1, closed: true });
    expect(report?.records).toBe(files.flatMap((file) => recordsOf(file)).length);
  });

  it('shows a file that is missing between others, and names where it begins when the oldest are gone', async () => {
    const path = newPath();
    await logged(path, 20, { chain: true });
    const files = filesOf(path);
    const kinds: string[] = [];
    await verifyAudit({ files: files.toSpliced(1, 1), onFault: ({ kind }) => kinds.push(kind) });
    expect(kinds).toEqual(['missing']);
    const [report] = await verifyAudit({ files: files.slice(2) });
    expect(report?.faults).toBe(0);
    expect(report?.first).toBe(recordsOf(String(files[2]))[0]?.['n']);
  });

  it('goes on when the process dies between the end of one file and the beginning of the next', async () => {
    const path = newPath();
    await logged(path, 20, { chain: true });
    const files = filesOf(path);
    rmSync(path);
    await logged(path, 1, { chain: true });
    expect((await verifyAudit({ files: filesOf(path) }))[0]).toMatchObject({ faults: 0, first: 1 });
    expect(recordsOf(path)[0]).toMatchObject({ part: files.length });
    writeFileSync(path, '');
    await logged(path, 1, { chain: true });
    expect((await verifyAudit({ files: filesOf(path) }))[0]).toMatchObject({ faults: 0, first: 1 });
  });

  it('keeps as many full files as it is told to', async () => {
    const path = newPath();
    await logged(path, 30, { keep: 2, chain: true });
    const files = filesOf(path);
    expect(files).toHaveLength(3);
    expect(files.at(-1)).toBe(path);
    expect((await verifyAudit({ files }))[0]).toMatchObject({ faults: 0 });
  });

  it('grows on, and tells it once, where the next file cannot be begun', async () => {
    const path = newPath();
    const faults: Error[] = [];
    const log = auditLog(path, { maxBytes: 4096, onFault: (error) => faults.push(error) });
    mkdirSync(join(dirname(path), 'runs.1.jsonl'));
    const enforcement = createEnforcement();
    enforcement.on(log);
    for (let i = 0; i < 30; i++) await enforcement.withRun((run) => run.callTool('search', {}, () => {}));
    await log.close();
    expect(log.lost).toBe(0);
    expect(recordsOf(path).filter(({ type }) => !type.startsWith('log.'))).toHaveLength(240);
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringMatching(/cannot go on in another file, and grows: .*is there already/),
    ]);
  });

  it('makes no more of names that only look alike', async () => {
    const path = newPath();
    for (const name of ['runs.old.jsonl', 'runs.01.jsonl', 'runs.7.txt', 'other.9.jsonl']) {
      writeFileSync(join(dirname(path), name), '');
    }
    await logged(path, 1);
    expect(recordsOf(path)[0]).toMatchObject({ part: 1 });
  });
});

import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import { partsOf, pathOfPart } from '../../src/audit/parts.ts';
import { createEnforcement } from '../../src/index.ts';
import { type FileFault, type RunReport, replay } from '../../src/replay/index.ts';
import { newPath } from './support.ts';

/** A log in several files, of runs that go on from each to the next. @returns The files, oldest first. */
async function logged(chain = false): Promise<string[]> {
  const path = newPath();
  const enforcement = createEnforcement();
  const log = auditLog(path, { maxBytes: 3000, chain });
  enforcement.on(log);
  const runs = ['a', 'b'].map((id) => enforcement.beginRun({ id }));
  for (let i = 0; i < 20; i++) for (const run of runs) await run.callTool('search', {}, () => {});
  for (const run of runs) run.finish();
  await log.close();
  return [...partsOf(path).map((part) => pathOfPart(path, part)), path];
}

async function replayed(files: readonly string[], maxSteps = 50) {
  const reports: RunReport[] = [];
  const faults: FileFault[] = [];
  const enforcement = { config: { agentProfile: { resourceBudget: { maxSteps } } } };
  for await (const report of replay({ files, enforcement, onFault: (fault) => faults.push(fault) }))
    reports.push(report);
  return { reports, faults };
}

describe('The files of a log, one after the other', () => {
  it.each([false, true])('are replayed as one recording (chain: %s)', async (chain) => {
    const files = await logged(chain);
    expect(files.length).toBeGreaterThan(3);
    const { reports, faults } = await replayed(files);
    expect(faults).toEqual([]);
    expect(reports.map(({ file, run, calls, verdict }) => ({ file, run, calls, verdict }))).toEqual([
      { file: files[0], run: 'a', calls: 20, verdict: 'allowed' },
      { file: files[0], run: 'b', calls: 20, verdict: 'allowed' },
    ]);
  });

  it('keep the place of each line', async () => {
    const files = await logged();
    const { reports } = await replayed(files, 15);
    const { file = '', line, callId } = reports[0]?.firstRefusal ?? {};
    expect(file).not.toBe(files[0]);
    const said = JSON.parse(String(readFileSync(file, 'utf8').split('\n')[Number(line) - 1]));
    expect(said).toMatchObject({ type: 'call.started', run: 'a', call: callId });

    const [, second = ''] = files;
    const lines = readFileSync(second, 'utf8').split('\n');
    writeFileSync(second, lines.with(4, 'broken').join('\n'));
    const { faults } = await replayed(files);
    expect(faults[0]).toMatchObject({ file: second, line: 5 });
  });

  it('do not run into each other where the end of one was cut', async () => {
    const files = await logged();
    truncateSync(String(files[1]), readFileSync(String(files[1])).length - 5);
    const { faults } = await replayed(files);
    const unread = faults.filter(({ message }) => message.startsWith('not JSON'));
    const lines = readFileSync(String(files[1]), 'utf8').split('\n').length;
    expect(unread).toEqual([expect.objectContaining({ file: files[1], line: lines })]);
  });

  it('are recordings of their own where one between them is missing, or the order is another', async () => {
    const files = await logged();
    const { reports } = await replayed(files.toSpliced(1, 1));
    expect(reports.length).toBeGreaterThan(2);
    const again = await replayed(files.toReversed());
    expect(again.reports.length).toBeGreaterThan(2);
  });
});

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { auditLog, verifyAudit } from '../../src/audit/index.ts';
import { createEnforcement } from '../../src/index.ts';
import { refusalOf } from '../core/helpers.ts';
import { replayed } from '../replay/support.ts';

const noNullDevice = process.platform !== 'linux';
const noFullDevice = !existsSync('/dev/full');

/** A disk of that many bytes; `undefined` where none may be mounted. */
function smallDisk(bytes: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', folder]));
  return folder;
}

describe('On a full disk', () => {
  it.skipIf(noFullDevice)('calls go on, and what is lost is told once and counted', async () => {
    const faults: Error[] = [];
    const log = auditLog('/dev/full', { onFault: (error) => faults.push(error) });
    const enforcement = createEnforcement();
    enforcement.on(log);
    const answer = await enforcement.withRun((run) => run.callTool('search', {}, () => 'found'));
    expect(answer).toBe('found');
    expect(log.lost).toBe(8);
    expect(faults).toEqual([log.fault]);
    expect(faults[0]).toMatchObject({
      code: 'log-unwritable',
      message: expect.stringMatching(
        /^The audit log \/dev\/full cannot be written, and loses records: ENOSPC/,
      ),
    });
  });

  it.skipIf(noNullDevice)(
    'where nothing can be forced to the disk either: that is told once, and each call refused',
    async () => {
      const faults: Error[] = [];
      // It takes what is written, and cannot be synced.
      const log = auditLog('/dev/null', {
        fsync: true,
        onError: 'refuse',
        onFault: (error) => faults.push(error),
      });
      const enforcement = createEnforcement();
      enforcement.on(log);
      const run = enforcement.beginRun();
      for (let i = 0; i < 3; i++) {
        const refusal = await refusalOf(run.callTool('search', {}, () => expect.unreachable()));
        expect(refusal).toMatchObject({
          code: 'observer-failed',
          message: expect.stringContaining('fdatasync'),
        });
      }
      expect(faults).toEqual([log.fault]);
    },
  );

  it.skipIf(noFullDevice)('calls are refused where that was chosen, and runs can end', async () => {
    const log = auditLog('/dev/full', {
      onError: 'refuse',
      onFault: () => {
        throw new Error('nor this');
      },
    });
    const enforcement = createEnforcement();
    enforcement.on(log);
    const run = enforcement.beginRun();
    let started = false;
    const refusal = await refusalOf(
      run.callTool('search', {}, () => {
        started = true;
      }),
    );
    expect(refusal).toMatchObject({ code: 'observer-failed', message: expect.stringContaining('ENOSPC') });
    expect(started).toBe(false);
    run.finish();
    expect(run.state.finished).toBe(true);
  });

  it.skipIf(noFullDevice)('the process is warned when nobody asks for the fault', async () => {
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    const enforcement = createEnforcement();
    enforcement.on(auditLog('/dev/full'));
    await enforcement.withRun(() => {});
    expect((await warned).message).toContain('loses records: ENOSPC');
  });

  it.for([false, true])(
    'a log goes on when there is room again, and says what it lost (chain: %s)',
    async (chain, context) => {
      const disk = smallDisk(64 * 1024);
      if (disk === undefined) return context.skip('no disk can be mounted here');
      const path = join(disk, 'runs.jsonl');
      const filler = join(disk, 'filler');
      const log = auditLog(path, { chain, onFault: () => {} });
      const enforcement = createEnforcement();
      enforcement.on(log);
      const work = async (calls: number) => {
        const run = enforcement.beginRun();
        for (let i = 0; i < calls; i++) await run.callTool('search', {}, () => {});
        run.finish();
      };
      await work(3);
      writeFileSync(filler, Buffer.alloc(48 * 1024));
      await work(40);
      expect(log.lost).toBeGreaterThan(0);
      expect(log.fault).toMatchObject({ message: expect.stringContaining('ENOSPC') });
      const lost = log.lost;
      unlinkSync(filler);
      await work(3);
      await log.close();
      expect([log.lost, log.fault]).toEqual([lost, null]);

      const text = readFileSync(path, 'utf8');
      expect(text.match(/"lost":\d+/g)).toEqual([`"lost":${lost}`]);
      const { faults } = await replayed(text);
      expect(faults.map(({ message }) => message)).toContain(
        `${lost} records before this line could not be written, and are lost`,
      );
      if (!chain) return;
      const found: unknown[] = [];
      const [report] = await verifyAudit({ files: [path], onFault: (fault) => found.push(fault) });
      expect(found).toEqual([]);
      expect(report).toMatchObject({ lost, cut: text.includes('"cut":true') ? 1 : 0, closed: true });
    },
  );
});

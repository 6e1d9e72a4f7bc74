import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import type { Run } from '../../src/index.ts';
import { enforcementOf, ops, perform, resumed, setting } from '../core/saved-runs.ts';
import { decisionsIn, replayedLog, sink } from './support.ts';

/** As of one process: that a run was resumed, and its calls in flight were interrupted, is no decision. */
function withoutResumption(text: string): string {
  const lines = text.split('\n').filter((line) => line !== '' && !line.includes('"resumed":{'));
  return lines.join('\n').replaceAll('"interrupted":true', '"interrupted":false');
}

describe('A log of runs that are saved and resumed', { timeout: 60_000 }, () => {
  it('replays to the same decisions as if nobody had saved them, whichever calls are interrupted', async () => {
    await fc.assert(
      fc.asyncProperty(
        setting.filter(({ dfa }) => dfa),
        fc.array(ops, { minLength: 2, maxLength: 3 }),
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        async (setting, lives, interrupts) => {
          const log = sink();
          let runs: Run[] = [];
          for (const [life, ops] of lives.entries()) {
            const enforcement = enforcementOf(setting);
            enforcement.on(auditLog(log.stream));
            if (life === 0) runs.push(enforcement.beginRun({ id: 'r0' }));
            else runs = resumed(enforcement, runs, (index) => interrupts[index] === true);
            for (const op of ops) perform(enforcement, runs, op);
          }
          runs[0]?.finish();
          const again = await replayedLog(log.text(), setting.options, 'concurrent');
          expect(again.faults).toEqual([]);
          expect(decisionsIn(again.text)).toEqual(decisionsIn(withoutResumption(log.text())));
        },
      ),
      { numRuns: 300 },
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import type { Run } from '../../src/index.ts';
import { enforcementOf, ops, perform, resumed, setting } from '../core/saved-runs.ts';
import { decisionsIn, eventsIn, replayedLog, sink } from './support.ts';

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

  it('replays to the same answers where it begins with the run as it was resumed', async () => {
    await fc.assert(
      fc.asyncProperty(
        setting.filter(({ dfa }) => dfa),
        ops,
        ops,
        fc.boolean(),
        async (setting, earlier, after, interrupts) => {
          const run = enforcementOf(setting).beginRun({ id: 'r0' });
          // Child runs may lie in calls that have ended, of which the log would know nothing.
          for (const op of earlier) if (op.do !== 'begin') perform(enforcementOf(setting), [run], op);
          fc.pre(!run.state.finished);
          const log = sink();
          const enforcement = enforcementOf(setting);
          enforcement.on(auditLog(log.stream));
          const runs = resumed(enforcement, [run], () => interrupts);
          for (const op of after) perform(enforcement, runs, op);
          runs[0]?.finish();
          const again = await replayedLog(log.text(), setting.options, 'concurrent');
          expect(again.faults).toEqual([]);
          const before = run.callsInFlight.map(({ id }) => id);
          expect(answersIn(again.text, before)).toEqual(answersIn(log.text(), before));
        },
      ),
      { numRuns: 300 },
    );
  });
});

/** How calls were answered; but those that are only made again, as they were in flight before. */
function answersIn(text: string, madeAgain: readonly unknown[]): unknown[][] {
  return eventsIn(text)
    .filter(({ type }) => type === 'call.started' || type === 'call.refused')
    .filter(({ run, call }) => run !== 'r0' || !madeAgain.includes(call))
    .map(({ type, run, call, code }) => [type, run, call, code]);
}

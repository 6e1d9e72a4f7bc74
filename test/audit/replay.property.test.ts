import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditLog } from '../../src/audit/index.ts';
import { program, World } from '../core/program.ts';
import { decisionsIn, replayedLog, sink } from './support.ts';

describe('A log of whatever runs', { timeout: 120_000 }, () => {
  it('replays to the same decisions: with nested and parallel calls, sub-agents, refusals, checks, tables and runs between each other', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), program, fc.boolean(), async (s, program, chain) => {
        const log = sink();
        const world = new World(s, program, auditLog(log.stream, { chain }));
        await world.run();
        expect(world.faults).toEqual([]);
        const again = await replayedLog(log.text(), program, program.parallel);
        expect(again.faults).toEqual([]);
        expect(decisionsIn(again.text)).toEqual(decisionsIn(log.text()));
      }),
      { numRuns: 300 },
    );
  });
});

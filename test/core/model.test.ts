import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { program, World } from './program.ts';

describe('SPEC §9: what must hold whatever the interleaving', () => {
  // Programs of calls (nested, side by side, not waited for, failing, checked), child runs, proposals and ends, of
  // several agents at once; and the scheduler draws the order in which their promises settle. What is looked at after
  // each step stands in program.ts.
  test('whatever agents do', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), program, async (s, program) => {
        const world = new World(s, program);
        await world.run();
        expect(world.faults).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

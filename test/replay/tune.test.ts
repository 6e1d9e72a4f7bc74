import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LOOP_LADDER, STEP_LADDER, tune } from '../../src/replay/index.ts';
import { randomEvents } from './random-events.ts';
import { budgets, replayed, script, scripted, stream } from './support.ts';

const none = Number.POSITIVE_INFINITY;

describe('tuning', { timeout: 60_000 }, () => {
  const events = [
    ...script('+a -a '.repeat(12), 'twelve'),
    ...script('+a -a +b !b +b !b +b !b +c -c', 'retries'),
    ...script('+o +i<o -i +i<o -i -o', 'nested'),
  ];

  it('tells for each budget how many runs it would have stopped, and at which call', async () => {
    const { steps, loops } = await tune({ ...scripted(events), steps: [10, 2, 5, 10], loops: [0, 2, 3] });
    expect(steps).toEqual([
      { budget: 2, stopped: 2, at: { least: 3, median: 3, greatest: 3 } },
      { budget: 5, stopped: 1, at: { least: 6, median: 6, greatest: 6 } },
      { budget: 10, stopped: 1, at: { least: 11, median: 11, greatest: 11 } },
    ]);
    expect(loops).toEqual([
      { budget: 0, stopped: 2, at: { least: 2, median: 2, greatest: 3 } },
      { budget: 2, stopped: 1, at: { least: 5, median: 5, greatest: 5 } },
      { budget: 3, stopped: 0, at: null },
    ]);
  });

  it('tells what both budgets together would have stopped', async () => {
    const { together } = await tune({ ...scripted(events), steps: [2, 5, 12], loops: [0, 2, 3] });
    expect(together).toEqual([
      [3, 3, 2],
      [3, 2, 1],
      [2, 1, 0],
    ]);
  });

  it('tells the figures that budgets are chosen by', async () => {
    const { runs, calls, failed, least, figures } = await tune(scripted(events));
    expect({ runs, calls, failed, least }).toEqual({
      runs: 3,
      calls: 20,
      failed: 3,
      least: { maxSteps: 12, maxLoopsPerPhase: 3 },
    });
    expect(figures).toEqual({
      calls: {
        median: 5,
        p90: 12,
        greatest: 12,
        runs: [
          [3, 1],
          [5, 1],
          [12, 1],
        ],
      },
      failuresInARow: {
        median: 0,
        p90: 3,
        greatest: 3,
        runs: [
          [0, 2],
          [3, 1],
        ],
      },
      nested: {
        median: 0,
        p90: 2,
        greatest: 2,
        runs: [
          [0, 2],
          [2, 1],
        ],
      },
      depth: { median: 0, p90: 0, greatest: 0, runs: [[0, 3]] },
    });
  });

  it('tries ladders of its own when none is given', async () => {
    const { steps, loops } = await tune(scripted(events));
    expect(steps.map(({ budget }) => budget)).toEqual(STEP_LADDER);
    expect(loops.map(({ budget }) => budget)).toEqual(LOOP_LADDER);
  });

  it('goes by the rest of the configuration, whatever budgets that has', async () => {
    const resourceBudget = { maxSteps: 0, maxLoopsPerPhase: 0 };
    const config = { agentProfile: { resourceBudget }, dfa: { onToolError: 'observe' as const } };
    const { loops } = await tune({ ...scripted(script('+b !b +b !b')), config, loops: [0] });
    expect(loops).toEqual([{ budget: 0, stopped: 0, at: null }]);
  });

  it('tells of runs that no budget would let through', async () => {
    const config = { dfa: { removeTransitions: [['OBSERVING', 'PLANNING'] as const] } };
    const report = await tune({ ...scripted(events), config, steps: [100], loops: [100] });
    expect(report).toMatchObject({
      stoppedAnyway: 2,
      together: [[2]],
      steps: [{ stopped: 2 }],
      loops: [{ stopped: 2 }],
    });
  });

  it('of nothing is nothing', async () => {
    const faults: unknown[] = [];
    const report = await tune({ files: [stream('')], onFault: (fault) => faults.push(fault) });
    expect(report).toMatchObject({ runs: 0, calls: 0, least: { maxSteps: 0, maxLoopsPerPhase: 0 } });
    expect(faults).toHaveLength(1);
  });

  it.each([[[-1]], [[1.5]], [[Number.NaN]], [[none]]])('refuses a ladder of %j', async (steps) => {
    await expect(tune({ files: [], steps })).rejects.toMatchObject({ code: 'invalid-argument' });
    await expect(tune({ files: [], loops: steps })).rejects.toMatchObject({ code: 'invalid-argument' });
  });

  it('says of each pair of budgets what a replay under it says, and names the least that stop nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomEvents,
        fc.constantFrom('serialize' as const, 'concurrent' as const),
        async ({ events, runs }, mode) => {
          fc.pre(runs.length > 0);
          const ladder = [0, 1, 2, 4];
          const config = { dfa: { parallel: mode } };
          const tuned = await tune({ ...scripted(events), config, steps: ladder, loops: ladder });
          const stoppedUnder = async (steps: number, loops: number) => {
            const { reports } = await replayed([], {
              ...scripted(events),
              enforcement: budgets(steps, loops, mode),
            });
            return reports.filter(({ verdict }) => verdict !== 'allowed').length;
          };
          for (const [i, steps] of ladder.entries()) {
            for (const [j, loops] of ladder.entries()) {
              expect(tuned.together[i]?.[j]).toBe(await stoppedUnder(steps, loops));
            }
            expect(tuned.steps[i]?.stopped).toBe(await stoppedUnder(steps, none));
            expect(tuned.loops[i]?.stopped).toBe(await stoppedUnder(none, steps));
          }
          const { maxSteps, maxLoopsPerPhase } = tuned.least;
          expect(await stoppedUnder(maxSteps, maxLoopsPerPhase)).toBe(0);
          if (maxSteps > 0) expect(await stoppedUnder(maxSteps - 1, none)).toBeGreaterThan(0);
          if (maxLoopsPerPhase > 0) expect(await stoppedUnder(none, maxLoopsPerPhase - 1)).toBeGreaterThan(0);
        },
      ),
      { numRuns: 40 },
    );
  });
});

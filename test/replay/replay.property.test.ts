import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../src/replay/index.ts';
import { randomCalls, randomEvents } from './random-events.ts';
import { budgets, replayEvents, replayed, scripted } from './support.ts';

const parallel = fc.constantFrom('serialize' as const, 'concurrent' as const);
const budget = fc.oneof(fc.integer({ min: 0, max: 8 }), fc.constant(Number.POSITIVE_INFINITY));

describe('whatever the recording', { timeout: 60_000 }, () => {
  it('the replay comes to an end, and counts what was recorded', async () => {
    await fc.assert(
      fc.asyncProperty(
        randomEvents,
        budget,
        budget,
        parallel,
        fc.boolean(),
        async ({ events, runs }, steps, loops, mode, all) => {
          const { reports, faults } = await replayed([], {
            ...scripted(events),
            enforcement: budgets(steps, loops, mode),
            all,
          });
          expect(faults).toEqual(
            runs.length === 0 ? [expect.objectContaining({ message: 'it holds no run' })] : [],
          );
          const counted = reports
            .toSorted((a, b) => a.index - b.index)
            .map(({ calls, failed, figures }) => ({ calls, failed, depth: figures.depth }));
          expect(counted).toEqual(runs);
          for (const { verdict, refused, firstRefusal, stepCount, calls } of reports) {
            expect(stepCount).toBeLessThanOrEqual(steps);
            expect(refused).toBeLessThanOrEqual(all ? calls : 1);
            expect(verdict === 'allowed').toBe(refused === 0);
            expect(firstRefusal?.code ?? 'allowed').toBe(verdict);
            if (firstRefusal !== null) expect(firstRefusal.seq).toBeLessThanOrEqual(calls);
          }
        },
      ),
    );
  });

  it('without budgets all of it goes through, and each call that did not fail is a step', async () => {
    await fc.assert(
      fc.asyncProperty(randomEvents, parallel, async ({ events }, mode) => {
        const none = Number.POSITIVE_INFINITY;
        const { reports } = await replayed([], {
          ...scripted(events),
          enforcement: budgets(none, none, mode),
        });
        for (const { verdict, stepCount, calls, failed } of reports) {
          expect(verdict).toBe('allowed');
          expect(stepCount).toBe(calls - failed);
        }
      }),
    );
  });
});

describe('of calls that do not overlap', { timeout: 60_000 }, () => {
  it('the replay says what plain counting says', async () => {
    await fc.assert(
      fc.asyncProperty(randomCalls, budget, budget, async (events, steps, loops) => {
        fc.pre(events.length > 0);
        const { refusals, stepCount } = counted(events, steps, loops);
        const all = await replayEvents(events, { enforcement: budgets(steps, loops), all: true });
        const [first] = refusals;
        expect({
          verdict: all.verdict,
          seq: all.firstRefusal?.seq,
          refused: all.refused,
          stepCount: all.stepCount,
        }).toEqual({
          verdict: first?.code ?? 'allowed',
          seq: first?.seq,
          refused: refusals.length,
          stepCount,
        });
        const upToFirst = await replayEvents(events, { enforcement: budgets(steps, loops) });
        expect([upToFirst.verdict, upToFirst.firstRefusal?.seq]).toEqual([
          all.verdict,
          all.firstRefusal?.seq,
        ]);
      }),
      { numRuns: 300 },
    );
  });
});

// SPEC §2, §4 and §5 for calls one after the other, as one would count them by hand.
function counted(events: readonly TraceEvent[], maxSteps: number, maxLoops: number) {
  const refusals: { seq: number; code: string }[] = [];
  const made = new Set<string>();
  let [seq, steps, loops, open] = [0, 0, 0, 0];
  let acting = false;
  for (const event of events) {
    if (event.type === 'call.started') {
      seq += 1;
      if (event.parent !== undefined && !made.has(event.parent)) continue;
      const code =
        steps + open >= maxSteps ? 'step-budget' : acting && loops >= maxLoops ? 'loop-budget' : undefined;
      if (code !== undefined) {
        refusals.push({ seq, code });
        continue;
      }
      made.add(event.call);
      loops = acting ? loops + 1 : 0;
      acting = true;
      open += 1;
    } else if (event.type === 'call.ended' && made.delete(event.call)) {
      open -= 1;
      if (event.ok) steps += 1;
      if (event.ok && open === 0) {
        acting = false;
        loops = 0;
      }
    }
  }
  return { refusals, stepCount: steps };
}

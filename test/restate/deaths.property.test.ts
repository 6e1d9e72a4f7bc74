import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { findToolExecutionBlocked } from '../../src/index.ts';
import { pass, serve } from './world.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A machine that makes so many calls, and dies at a request: that one arrives or not, and it hears no answer to it. */
const machine = fc.record({
  calls: fc.integer({ min: 1, max: 4 }),
  bodyMs: fc.constantFrom(0, 50, 2000),
  diesAt: fc.option(fc.nat(12), { nil: Number.POSITIVE_INFINITY }),
  arrives: fc.boolean(),
});

const MAX_STEPS = 6;

test('whichever machines die, and when: what ran is charged, nothing beyond the budget, and the others go on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(machine, { minLength: 1, maxLength: 5 }), async (machines) => {
      const world = serve({ maxSteps: MAX_STEPS }, {}, { leaseMs: 12_000 });
      const root = await world.machine().beginRun();
      let [started, ended, running] = [0, 0, 0];

      const live = async ({ calls, bodyMs, diesAt, arrives }: (typeof machines)[number]) => {
        let requests = 0;
        const fetchUntilDeath: typeof fetch = async (url, init) => {
          requests += 1;
          if (requests <= diesAt) return world.restate.fetch(url, init);
          if (requests === diesAt + 1 && arrives) void world.restate.fetch(url, init);
          return new Promise(() => {});
        };
        const isDead = () => requests > diesAt;
        const run = await world.machine({ fetch: fetchUntilDeath }).joinRun(root.id);
        for (let i = 0; i < calls; i++) {
          try {
            await run.callTool('work', { i }, async () => {
              started += 1;
              running += 1;
              expect(running).toBe(1);
              await new Promise((resolve) => setTimeout(resolve, bodyMs));
              running -= 1;
              ended += 1;
            });
          } catch (error) {
            if (!isDead()) expect(findToolExecutionBlocked(error)?.code).toBe('step-budget');
          }
        }
      };

      const survivors: Promise<unknown>[] = [];
      for (const one of machines) {
        const lived = live(one);
        if (one.diesAt === Number.POSITIVE_INFINITY) survivors.push(lived);
        else lived.catch(() => {});
      }
      await pass(600_000);
      await Promise.all(survivors);
      const { stepCount, inFlight } = await root.state();
      expect(inFlight).toBe(0);
      expect(started).toBe(ended);
      // A body that was charged may not have started: its machine died when it was let.
      expect(stepCount).toBeGreaterThanOrEqual(ended);
      expect(stepCount).toBeLessThanOrEqual(MAX_STEPS);
    }),
    { numRuns: 100 },
  );
});

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

const forMs = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** What the network does to a request: most are quick, and some take longer than whoever asks waits for the answer. */
const passage = fc.record({
  thereMs: fc.oneof({ weight: 4, arbitrary: fc.constant(10) }, { weight: 1, arbitrary: fc.nat(20_000) }),
  backMs: fc.oneof({ weight: 4, arbitrary: fc.constant(10) }, { weight: 1, arbitrary: fc.nat(20_000) }),
  /** It arrives once more, so much later. */
  againAfterMs: fc.option(fc.nat(20_000), { freq: 8 }),
  loses: fc.oneof(
    { weight: 9, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.constantFrom('the request', 'the answer') },
  ),
});
type Passage = typeof passage extends fc.Arbitrary<infer T> ? T : never;

/** A request that is under way arrives, whether or not whoever made it has given up. */
function network(fetchIt: typeof fetch, passages: Iterator<Passage>): typeof fetch {
  async function cross(...request: Parameters<typeof fetch>): Promise<Response> {
    const { thereMs, backMs, againAfterMs, loses } = passages.next().value as Passage;
    await forMs(thereMs);
    if (loses === 'the request') throw new Error('the request is lost');
    const answer = fetchIt(...request);
    if (againAfterMs !== null) void forMs(againAfterMs).then(() => fetchIt(...request));
    await forMs(backMs);
    if (loses === 'the answer') throw new Error('the answer is lost');
    return answer;
  }
  return (url, init) =>
    new Promise((resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(new Error('no answer')));
      cross(url, init).then(resolve, reject);
    });
}

const MAX_STEPS = 6;

test('however the network delays, loses and repeats: bodies start once, one after another, in calls that were admitted', async () => {
  let unreachable = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.infiniteStream(passage),
      fc.integer({ min: 1, max: 8 }),
      fc.nat(8000),
      fc.boolean(),
      async (passages, calls, bodyMs, remembers) => {
        const { restate, machine } = serve({ maxSteps: MAX_STEPS }, {}, { leaseMs: 30_000 });
        restate.remembers = remembers;
        const root = await machine().beginRun();
        const open = () => (restate.stateOf('phasegate', root.id)['tree'] as { open: unknown[] }).open;
        const started = new Set<string>();
        let running = 0;
        const one = async (_: unknown, i: number) => {
          // Joined over a network that is well: it is calls that are looked at.
          const joined = machine({
            fetch: (url, init) =>
              String(url).endsWith('/state') ? restate.fetch(url, init) : unreliable(url, init),
          });
          const run = await joined.joinRun(root.id);
          await forMs(i * 1000);
          await run.callTool('work', { i }, async ({ address: { call } }) => {
            expect(open()).toMatchObject([{ call, offered: false }]);
            expect(started).not.toContain(call);
            started.add(call);
            running += 1;
            expect(running).toBe(1);
            await forMs(bodyMs);
            running -= 1;
          });
        };
        const unreliable = network(restate.fetch, passages);
        const outcomes = Promise.allSettled(Array.from({ length: calls }, one));
        await pass(900_000);
        for (const outcome of await outcomes) {
          if (outcome.status === 'fulfilled') continue;
          const blocked = findToolExecutionBlocked(outcome.reason);
          if (blocked === undefined) throw outcome.reason;
          if (blocked.code === 'enforcement-unreachable') unreachable += 1;
        }
        const { stepCount, inFlight } = await root.state();
        expect(inFlight).toBe(0);
        expect(stepCount).toBeGreaterThanOrEqual(started.size);
        expect(stepCount).toBeLessThanOrEqual(MAX_STEPS);
      },
    ),
    { numRuns: 100 },
  );
  expect(unreachable).toBeGreaterThan(10);
});

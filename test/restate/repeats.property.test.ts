import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Call, type Enforcement, type Run, ToolExecutionBlocked } from '../../src/index.ts';
import type { RemoteCall, RemoteEnforcement, RemoteRun } from '../../src/restate/index.ts';
import { serve } from './world.ts';

/** What an agent does next: which of its runs and calls it does it with is drawn by number. */
const action = fc.record({
  what: fc.constantFrom('call', 'nested', 'succeed', 'fail', 'propose', 'child', 'finish', 'abort'),
  which: fc.nat(20),
  machine: fc.nat(1),
});
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

const TARGETS = ['PLANNING', 'ACTING', 'OBSERVING', 'ANSWERING', 'NOWHERE'];

interface Played {
  readonly answers: unknown[];
}

/** The same program for the local enforcement and for the remote one: what differs is awaited. */
async function play(
  actions: readonly Action[],
  { begin, on, end }: { begin: Begin; on: (run: AnyRun, machine: number) => Promise<AnyRun>; end: End },
): Promise<Played> {
  const runs: AnyRun[] = [await begin(undefined, 0)];
  const calls: AnyCall[] = [];
  const answers: unknown[] = [];
  for (const { what, which, machine } of actions) {
    const run = await on(runs[which % runs.length] as AnyRun, machine);
    const call = calls[which % Math.max(1, calls.length)];
    answers.push([what, await outcome(() => act(what, which, run, call))]);
    answers.push(await Promise.all(runs.map(async (one) => stateOf(one))));
  }
  return { answers };

  async function act(what: Action['what'], which: number, run: AnyRun, call: AnyCall | undefined) {
    if (what === 'call') return void calls.push(await run.beforeCall('tool', { which }, { parent: null }));
    if (what === 'propose') return without(await run.propose(TARGETS[which % TARGETS.length] as string));
    if (what === 'finish' && which % 4 === 0) return run.finish();
    if (what === 'abort' && which % 4 === 0) return run.abort(`reason ${which}`);
    if (call === undefined) return undefined;
    if (what === 'nested') {
      return void calls.push(await call.run.beforeCall('inner', {}, { parent: call as never }));
    }
    if (what === 'child') return void runs.push(await begin(call, which));
    calls.splice(calls.indexOf(call), 1);
    await end(call, what === 'succeed');
  }
}

type AnyRun = Run | RemoteRun;
type AnyCall = Call | RemoteCall;
type Begin = (parent: AnyCall | undefined, budget: number) => Promise<AnyRun>;
type End = (call: AnyCall, ok: boolean) => Promise<void>;

async function outcome(act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ToolExecutionBlocked)
      return [error.code, error.message, error.phase, error.stepCount];
    throw error;
  }
}

function without(decision: { allowed: boolean; state?: unknown }) {
  const { state: _, ...rest } = decision;
  return rest;
}

async function stateOf(run: AnyRun) {
  return typeof run.state === 'function' ? run.state() : run.state;
}

function playLocally(enforcement: Enforcement, actions: readonly Action[]) {
  return play(actions, {
    begin: async (parent, budget) =>
      enforcement.beginRun({
        parent: (parent ?? null) as Call | null,
        budget: budget % 2 ? 'shared' : 'own',
      }),
    on: async (run) => run,
    end: async (call, ok) =>
      ok ? (call.run as Run).afterCall(call as Call) : (call.run as Run).failCall(call as Call),
  });
}

function playRemotely(machines: readonly RemoteEnforcement[], actions: readonly Action[]) {
  return play(actions, {
    begin: (parent, budget) =>
      (machines[budget % 2] as RemoteEnforcement).beginRun({
        parent: (parent as RemoteCall | undefined)?.address ?? null,
        budget: budget % 2 ? 'shared' : 'own',
      }),
    on: (run, machine) => (machines[machine] as RemoteEnforcement).joinRun((run as RemoteRun).address),
    end: async (call, ok) => {
      const { run } = call as RemoteCall;
      await (ok ? run.afterCall(call as RemoteCall) : run.failCall(call as RemoteCall));
    },
  });
}

const RULES = { maxSteps: 6, maxLoopsPerPhase: 2 };

/** The service dies at some steps, and some answers get lost: then the request arrives once more, and Restate does not know it. */
function unlucky(world: ReturnType<typeof serve>, luck: Iterator<number>): RemoteEnforcement[] {
  const { restate, machine } = world;
  const draw = () => luck.next().value as number;
  restate.crashes = () => draw() < 2;
  restate.remembers = false;
  const fetchTwice: typeof fetch = async (url, init) => {
    const answer = await restate.fetch(url, init);
    return draw() < 5 ? restate.fetch(url, init) : answer;
  };
  return [machine({ fetch: fetchTwice }), machine({ fetch: fetchTwice })];
}

test('whatever dies, and whatever is asked twice, the answers are those of one process', async () => {
  let died = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(action, { maxLength: 25 }),
      fc.infiniteStream(fc.nat(9)),
      fc.constantFrom('deny', 'terminate'),
      async (actions, luck, onBudgetExhausted) => {
        const world = serve({ ...RULES, onBudgetExhausted }, { parallel: 'concurrent' });
        const machines = unlucky(world, luck);
        expect(await playRemotely(machines, actions)).toEqual(await playLocally(world.enforcement, actions));
        died += world.restate.died;
      },
    ),
    { numRuns: 150 },
  );
  expect(died).toBeGreaterThan(100);
});

test('whatever dies, and whatever is asked twice, calls at once are made one after another, and each once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      fc.infiniteStream(fc.nat(9)),
      fc.infiniteStream(fc.nat(3)),
      async (calls, luck, fails) => {
        const machines = unlucky(serve({ maxSteps: 8, maxLoopsPerPhase: 2 }), luck);
        const first = await (machines[0] as RemoteEnforcement).beginRun();
        const runs = await Promise.all(machines.map((machine) => machine.joinRun(first.id)));
        let [ran, failed, running] = [0, 0, 0];
        const one = async (_: unknown, i: number) => {
          const run = runs[i % 2] as RemoteRun;
          await run.callTool('search', { i }, async () => {
            running += 1;
            expect(running).toBe(1);
            await Promise.resolve();
            running -= 1;
            if (fails.next().value === 0) {
              failed += 1;
              throw new Error('the tool failed');
            }
            ran += 1;
          });
        };
        const outcomes = await Promise.allSettled(Array.from({ length: calls }, one));
        const refused = outcomes.filter(
          (outcome) => outcome.status === 'rejected' && outcome.reason instanceof ToolExecutionBlocked,
        );
        expect(ran + failed + refused.length).toBe(calls);
        expect(await first.state()).toMatchObject({ stepCount: ran, inFlight: 0 });
        expect(ran).toBeLessThanOrEqual(8);
        if (failed === 0) expect(ran).toBe(Math.min(calls, 8));
      },
    ),
    { numRuns: 60 },
  );
});

import fc, { type Scheduler } from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type CheckAnswer,
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Enforcement,
  type EnforcementOptions,
  type Run,
  type SupervisorOptions,
} from '../../src/index.ts';
import { flush, type Outcome, watch } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

// In each of these the order in which promises settle is drawn by chance, and shrunk to the shortest that fails.

const parallel = fc.constantFrom('serialize' as const, 'concurrent' as const);

/** An enforcement whose check answers when the scheduler says; with `say`, what it answers. */
function scheduled(
  s: Scheduler,
  rules: SupervisorOptions,
  options: EnforcementOptions & { checked?: boolean; say?: (tool: string) => CheckAnswer } = {},
): Enforcement {
  const { checked = true, say = () => ({ allowed: true }), ...rest } = options;
  const monitor = createMonitor(
    {},
    {
      checks: [
        { name: 'slow', check: (call) => s.schedule(Promise.resolve(say(call.tool)), `check ${call.tool}`) },
      ],
    },
  );
  return createEnforcement({
    supervisor: createSupervisor(rules),
    ...(checked ? { monitor } : {}),
    ...rest,
  });
}

/** Lets the scheduler run until nothing is left, and looks after each step. */
async function drain(s: Scheduler, look: () => void = () => {}): Promise<void> {
  await flush();
  while (s.count() > 0) {
    await s.waitOne();
    await flush();
    look();
  }
}

function settled(outcomes: readonly Outcome[]): void {
  expect(outcomes.filter(({ status }) => status === 'pending')).toEqual([]);
}

describe('SPEC §2.1 and §5.3, whatever the interleaving', () => {
  test('of eight calls at once under a budget of six, six bodies start', async () => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      parallel,
      fc.boolean(),
      async (s, parallel, checked) => {
        const run = scheduled(s, { maxSteps: 6 }, { parallel, checked }).beginRun();
        let started = 0;
        const calls = Array.from({ length: 8 }, (_, i) =>
          watch(
            run.callTool(`t${i}`, {}, () => {
              started += 1;
              return s.schedule(Promise.resolve(i), `body t${i}`);
            }),
          ),
        );
        await drain(s, () => {
          expect(run.state.stepCount + run.state.inFlight).toBeLessThanOrEqual(6);
        });
        const outcomes = await Promise.all(calls.map((outcome) => outcome()));
        settled(outcomes);
        expect(started).toBe(6);
        expect(run.state).toMatchObject({ stepCount: 6, inFlight: 0, loopCount: {}, phase: 'OBSERVING' });
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') expect(outcome.error).toMatchObject({ code: 'step-budget' });
        }
      },
    );
    await fc.assert(property, { numRuns: 60 });
  });

  test('of calls of which some fail and some are refused by a check, as many end well as there may', async () => {
    const kinds = fc.array(fc.constantFrom('good', 'bad', 'no'), { minLength: 1, maxLength: 10 });
    const maxSteps = fc.integer({ min: 0, max: 4 });
    const property = fc.asyncProperty(fc.scheduler(), kinds, maxSteps, async (s, kinds, maxSteps) => {
      const say = (tool: string): CheckAnswer => (tool === 'no' ? { allowed: false } : { allowed: true });
      const run = scheduled(s, { maxSteps, maxLoopsPerPhase: 99 }, { say }).beginRun();
      const calls = kinds.map((kind) =>
        watch(
          run.callTool(kind, {}, async () => {
            await s.schedule(Promise.resolve(), `body ${kind}`);
            if (kind === 'bad') throw new Error('the tool failed');
          }),
        ),
      );
      await drain(s);
      settled(await Promise.all(calls.map((outcome) => outcome())));
      // Serialised, no call is turned away for one that then gives its place back.
      const good = kinds.filter((kind) => kind === 'good').length;
      expect(run.state).toMatchObject({ stepCount: Math.min(good, maxSteps), inFlight: 0 });
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('SPEC §2.2 and §5.3, whatever the interleaving', () => {
  test('of nested calls at once under a loop budget, as many run as there may', async () => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 0, max: 3 }),
      fc.integer({ min: 1, max: 5 }),
      fc.boolean(),
      async (s, maxLoopsPerPhase, asked, checked) => {
        const run = scheduled(s, { maxLoopsPerPhase }, { checked }).beginRun();
        let started = 0;
        const outer = watch(
          run.callTool('outer', {}, async (ctx) => {
            const inner = () =>
              ctx.callTool('inner', {}, () => {
                started += 1;
                return s.schedule(Promise.resolve(), 'body inner');
              });
            const ends = await Promise.allSettled(Array.from({ length: asked }, inner));
            return ends.filter(({ status }) => status === 'fulfilled').length;
          }),
        );
        await drain(s, () => {
          expect(run.state.loopCount[run.state.phase] ?? 0).toBeLessThanOrEqual(maxLoopsPerPhase);
        });
        expect(await outer()).toEqual({ status: 'fulfilled', value: Math.min(asked, maxLoopsPerPhase) });
        expect(started).toBe(Math.min(asked, maxLoopsPerPhase));
        expect(run.state).toMatchObject({ stepCount: started + 1, loopCount: {}, inFlight: 0 });
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('SPEC §6 and §9, whatever the interleaving', () => {
  test('after the end of a run no body starts, no counter moves, and no caller is left waiting', async () => {
    const end = fc.constantFrom<(run: Run) => void>(
      (run) => run.abort('stop'),
      (run) => run.finish(),
      (run) => void (run.propose('ANSWERING').allowed || run.abort('stop')),
    );
    const property = fc.asyncProperty(
      fc.scheduler(),
      parallel,
      fc.boolean(),
      end,
      async (s, parallel, checked, end) => {
        const run = scheduled(s, {}, { parallel, checked }).beginRun();
        let startedLate = 0;
        const body = async () => {
          if (run.state.finished) startedLate += 1;
          await s.schedule(Promise.resolve(), 'body');
        };
        const calls = Array.from({ length: 4 }, (_, i) =>
          watch(
            run.callTool(`t${i}`, {}, async (ctx) => {
              await body();
              await ctx.callTool(`n${i}`, {}, body);
            }),
          ),
        );
        let ended: Run['state'] | undefined;
        const ends = s.schedule(Promise.resolve(), 'end').then(() => {
          end(run);
          ended = run.state;
        });
        await drain(s, () => {
          if (ended !== undefined) expect({ ...run.state, inFlight: 0 }).toEqual({ ...ended, inFlight: 0 });
        });
        await ends;
        settled(await Promise.all(calls.map((outcome) => outcome())));
        expect(startedLate).toBe(0);
        expect(run.state).toMatchObject({ finished: true, inFlight: 0 });
      },
    );
    await fc.assert(property, { numRuns: 150 });
  });

  test('the phase is ACTING while a call is in flight, and OBSERVING when the last has ended well', async () => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      parallel,
      fc.boolean(),
      async (s, parallel, checked) => {
        const run = scheduled(s, { maxLoopsPerPhase: 9 }, { parallel, checked }).beginRun();
        const acting: boolean[] = [];
        const body = async () => {
          acting.push(run.state.phase === 'ACTING');
          await s.schedule(Promise.resolve(), 'body');
          acting.push(run.state.phase === 'ACTING');
        };
        const calls = ['a', 'b', 'c'].map((tool) =>
          watch(
            run.callTool(tool, {}, async (ctx) => {
              await body();
              await Promise.all([ctx.callTool('inner', {}, body), ctx.callTool('inner', {}, body)]);
            }),
          ),
        );
        await drain(s, () => {
          if (run.state.inFlight > 0) expect(run.state.phase).toBe('ACTING');
        });
        settled(await Promise.all(calls.map((outcome) => outcome())));
        expect(acting).toEqual(Array.from({ length: 18 }, () => true));
        expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 9, loopCount: {} });
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('SPEC §5.8, whatever the interleaving', () => {
  test('runs at once on one enforcement each get exactly what they may', async () => {
    const sizes = fc.array(fc.integer({ min: 0, max: 5 }), { minLength: 2, maxLength: 4 });
    const property = fc.asyncProperty(fc.scheduler(), sizes, parallel, async (s, sizes, parallel) => {
      const enforcement = scheduled(s, { maxSteps: 3 }, { parallel });
      const tool = enforcement.tool('search', () => s.schedule(Promise.resolve(), 'body'));
      const runs: Run[] = [];
      const ends = sizes.map((size) =>
        watch(
          enforcement.withRun(async (run) => {
            runs.push(run);
            const ends = await Promise.allSettled(Array.from({ length: size }, () => tool()));
            return ends.filter(({ status }) => status === 'fulfilled').length;
          }),
        ),
      );
      await drain(s);
      const outcomes = await Promise.all(ends.map((outcome) => outcome()));
      expect(outcomes).toEqual(sizes.map((size) => ({ status: 'fulfilled', value: Math.min(size, 3) })));
      expect(runs.map(({ state }) => state.stepCount)).toEqual(sizes.map((size) => Math.min(size, 3)));
    });
    await fc.assert(property, { numRuns: 60 });
  });
});

describe('SPEC §10.2, whatever the interleaving', () => {
  test('a tree of agents makes no more calls than its root may', async () => {
    const property = fc.asyncProperty(
      fc.scheduler(),
      fc.integer({ min: 1, max: 8 }),
      fc.boolean(),
      async (s, maxSteps, checked) => {
        const enforcement = scheduled(
          s,
          { maxSteps, maxLoopsPerPhase: 9 },
          { checked, parallel: 'concurrent' },
        );
        const root = enforcement.beginRun();
        let running = 0;
        let well = 0;
        const count = async (body: () => Promise<unknown>) => {
          running += 1;
          expect(running + well).toBeLessThanOrEqual(maxSteps);
          await s.schedule(Promise.resolve(), 'body');
          await body();
          running -= 1;
          well += 1;
        };
        const agent = (depth: number) => async (run: Run) => {
          const work = () => run.callTool('search', {}, () => count(async () => {}));
          const delegate = () =>
            run.callTool('delegate', {}, () => count(() => enforcement.withRun(agent(depth - 1))));
          await Promise.allSettled(depth === 0 ? [work(), work()] : [work(), delegate(), delegate()]);
        };
        const end = watch(agent(2)(root));
        await drain(s, () => expect(root.state.stepCount).toBe(well));
        expect(await end()).toEqual({ status: 'fulfilled', value: undefined });
        expect(running).toBe(0);
        expect(root.state).toMatchObject({ stepCount: well, inFlight: 0 });
        expect(well).toBeLessThanOrEqual(maxSteps);
        expect(well).toBeGreaterThan(0);
      },
    );
    await fc.assert(property, { numRuns: 100 });
  });
});

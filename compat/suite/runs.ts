import { findToolExecutionBlocked, RunAbortedError, type SupervisorOptions } from 'phasegate';
import { afterEach, describe, expect, it } from 'vitest';
import type { Agent, Harness } from './harness.ts';
import { errorOf, gate, settled, times, turns, World } from './world.ts';

const NEVER = new Promise<never>(() => {});

/** How runs begin and end: with their invocation, by an abort, inside of others, and beside them. */
export function describeRuns(harness: Harness): void {
  describe(harness.name, () => {
    let world: World;
    const inWorld = (rules: SupervisorOptions = {}): World => {
      world = new World(rules);
      return world;
    };

    afterEach(() => world.expectSound());

    describe('an abort', () => {
      it('by the caller, while a body runs, stops the body, and no other starts', async () => {
        inWorld();
        const running = gate();
        const stopped = gate();
        const caller = new AbortController();
        const agent = world.agent(harness, turns(times(3, 'search'), times(1, 'search')), {
          search: (_, { signal }) => {
            running.open();
            signal?.addEventListener('abort', () => stopped.open());
            return NEVER;
          },
        });
        const asked = errorOf(agent.ask({ signal: caller.signal }));
        await running.passed;
        caller.abort(new Error('The user has gone'));
        expect(await asked).toMatchObject({ message: expect.stringContaining('The user has gone') });
        await stopped.passed;
        await settled();
        expect(world.started).toEqual(['search']);
        expect(world.ended).toMatchObject([{ reason: 'The user has gone' }]);
      });

      it('before anything has begun lets nothing begin', async () => {
        inWorld();
        const agent = world.agent(harness, turns(times(1, 'search')), { search: () => 'found' });
        const signal = AbortSignal.abort(new Error('Never mind'));
        expect(await errorOf(agent.ask({ signal }))).toMatchObject({
          message: expect.stringContaining('Never mind'),
        });
        await settled();
        expect(world.started).toEqual([]);
      });

      it('at the deadline reaches the caller, whatever the body does', async () => {
        inWorld();
        const { deadlineMs: timeoutMs = 50 } = harness;
        const agent = world.agent(harness, turns(times(2, 'search')), { search: () => NEVER }, { timeoutMs });
        const error = await errorOf(agent.ask());
        expect(error).toBeInstanceOf(RunAbortedError);
        expect(error).toMatchObject({ code: 'run-timeout' });
        await settled();
        expect(world.started).toEqual(['search']);
        expect(world.ended).toMatchObject([{ reason: `timeout after ${timeoutMs} ms` }]);
      });
    });

    describe('an agent inside of a tool', () => {
      const family = (maxSteps: number): Agent => {
        inWorld({ maxSteps });
        const inner = world.agent(harness, turns(times(1, 'search'), times(1, 'search')), {
          search: () => 'found',
        });
        return world.agent(harness, turns(times(1, 'research'), times(1, 'research')), {
          research: () => inner.ask(),
        });
      };

      it('is a child run, and pays from the same budget', async () => {
        const agent = family(2);
        expect(await agent.ask()).toBe('done');
        const [parent, child] = world.of('run.started');
        expect(child).toMatchObject({ parent: parent?.run, call: 'asked-1' });
        // The research, and one search of it.
        expect(world.started).toEqual(['research', 'search']);
        expect(world.of('call.refused').map(({ message }) => message)).toEqual([
          'Step budget exhausted: 1/2 (parent run) (1 call in flight)',
          'Step budget exhausted: 2/2',
        ]);
      });

      it('ends with the agent around it', async () => {
        inWorld();
        const running = gate();
        const caller = new AbortController();
        const inner = world.agent(harness, turns(times(1, 'search')), {
          search: () => {
            running.open();
            return NEVER;
          },
        });
        const agent = world.agent(harness, turns(times(1, 'research')), { research: () => inner.ask() });
        const asked = errorOf(agent.ask({ signal: caller.signal }));
        await running.passed;
        caller.abort(new Error('Enough'));
        await asked;
        expect(world.ended.map(({ reason }) => reason)).toEqual(['Enough', 'Enough']);
      });
    });

    describe('invocations', () => {
      it('of one agent at once have a budget each', async () => {
        inWorld({ maxSteps: 2 });
        const agent = world.agent(harness, (_, told) => (told.length < 2 ? times(1, 'search') : 'done'), {
          search: async () => {
            await settled();
            return 'found';
          },
        });
        expect(await Promise.all([agent.ask(), agent.ask()])).toEqual(['done', 'done']);
        expect(world.started).toHaveLength(4);
        expect(world.ended.map(({ stepCount }) => stepCount)).toEqual([2, 2]);
        expect(world.of('call.refused')).toEqual([]);
      });

      it('that are over admit no call that they left behind', async () => {
        inWorld();
        const left = gate<Promise<unknown>>();
        const over = gate();
        const agent = world.agent(harness, turns(times(1, 'outer')), {
          outer: (_, { call }) => {
            left.open(over.passed.then(() => call('inner')));
            return 'gone on';
          },
          inner: () => 'too late',
        });
        await agent.ask();
        over.open();
        const error = await left.passed.then(errorOf).catch(() => undefined);
        if (error !== undefined)
          expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'run-completed' });
        expect(world.started).toEqual(['outer']);
        expect(world.of('call.refused')).toMatchObject([{ code: 'run-completed' }]);
      });
    });

    describe('a tool outside of any run', () => {
      it('is refused', async () => {
        inWorld();
        let outside: (() => Promise<unknown>) | undefined;
        const bodies = world.counted({ search: () => 'found' });
        await harness.inRun({ enforcement: world.enforcement, options: {}, bodies }, async (_run, call) => {
          outside = () => call('search');
        });
        const refused = await outside?.().catch((error: unknown) => error);
        expect(refused).toBeDefined();
        expect(world.started).toEqual([]);
        expect(world.of('call.refused')).toHaveLength(1);
      });
    });
  });
}

import {
  findToolExecutionBlocked,
  RunAbortedError,
  type SupervisorOptions,
  ToolExecutionBlocked,
} from 'phasegate';
import { afterEach, describe, expect, it } from 'vitest';
import type { Agent, Harness } from './harness.ts';
import { errorOf, gate, settled, times, turns, World } from './world.ts';

const NEVER = new Promise<never>(() => {});

/** What every adapter has to do, whatever the framework. */
export function describeScenarios(harness: Harness): void {
  describe(harness.name, () => {
    let world: World;
    const inWorld = (rules: SupervisorOptions = {}): World => {
      world = new World(rules);
      return world;
    };

    afterEach(() => world.expectSound());

    describe('calls', () => {
      it('one after another, up to the step budget', async () => {
        const { started } = inWorld({ maxSteps: 2 });
        const agent = world.agent(
          harness,
          turns(times(1, 'search'), times(1, 'search'), times(1, 'search')),
          {
            search: () => 'found',
          },
        );
        expect(await agent.ask()).toBe('done');
        expect(started).toEqual(['search', 'search']);
        expect(agent.turns).toBe(4);
        expect(agent.told.slice(0, 2)).toEqual([
          expect.stringContaining('found'),
          expect.stringContaining('found'),
        ]);
        expect(agent.told[2]).toContain('Step budget exhausted: 2/2');
        expect(world.ended).toMatchObject([{ phase: 'ANSWERING', reason: null, stepCount: 2 }]);
      });

      it.each([2, 8])('%d at once under a budget of six', async (count) => {
        const { started } = inWorld({ maxSteps: 6 });
        const agent = world.agent(harness, turns(times(count, 'search')), {
          search: ({ n }) => `found ${n}`,
        });
        expect(await agent.ask()).toBe('done');
        const admitted = Math.min(count, 6);
        expect(started).toHaveLength(admitted);
        expect(agent.told).toHaveLength(count);
        for (let n = 1; n <= admitted; n += 1) expect(agent.told.join()).toContain(`found ${n}`);
        expect(agent.told.filter((text) => text.includes('Step budget exhausted'))).toHaveLength(
          count - admitted,
        );
        expect(world.ended).toMatchObject([{ stepCount: admitted }]);
      });

      it('those at once run one at a time', async () => {
        inWorld();
        let running = 0;
        const most: number[] = [];
        const agent = world.agent(harness, turns(times(4, 'search')), {
          search: async () => {
            running += 1;
            most.push(running);
            await settled();
            running -= 1;
          },
        });
        await agent.ask();
        expect(most).toEqual([1, 1, 1, 1]);
      });

      it('one from the body of another is nested in it', async () => {
        inWorld();
        const agent = world.agent(harness, turns(times(1, 'outer')), {
          outer: async (_, { call }) => `outer of ${await call('inner', { n: 1 })}`,
          inner: () => 'inner',
        });
        await agent.ask();
        expect(world.started).toEqual(['outer', 'inner']);
        const [outer, inner] = world.of('call.started');
        expect(outer).toMatchObject({ tool: 'outer', parent: null });
        expect(inner).toMatchObject({ tool: 'inner', parent: outer?.call, run: outer?.run });
        expect(agent.told[0]).toContain('outer of inner');
        expect(world.ended).toMatchObject([{ stepCount: 2 }]);
      });

      it('one that throws is told to the model as the framework tells it, and is no step', async () => {
        inWorld();
        const agent = world.agent(harness, turns(times(1, 'search'), times(1, 'read')), {
          search: () => {
            throw new Error('The index is gone');
          },
          read: () => 'a page',
        });
        expect(await agent.ask()).toBe('done');
        expect(agent.told[0]).toContain('The index is gone');
        expect(agent.told[1]).toContain('a page');
        expect(world.of('call.ended')).toMatchObject([
          { tool: 'search', ok: false },
          { tool: 'read', ok: true },
        ]);
        expect(world.ended).toMatchObject([{ stepCount: 1 }]);
      });

      it('keep the ids and arguments that the model gave them', async () => {
        inWorld();
        const agent = world.agent(harness, turns(times(2, 'search')), { search: () => 'found' });
        await agent.ask();
        const calls = world.of('call.started');
        expect(calls.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }]);
        expect(new Set(calls.map(({ call }) => call)).size).toBe(2);
        expect(calls.every(({ call }) => /^asked-\d+$/.test(call))).toBe(true);
      });
    });

    describe('a refusal', () => {
      it('as a message says why, and what is legal instead', async () => {
        inWorld({ maxSteps: 0 });
        const agent = world.agent(harness, turns(times(1, 'search')), { search: () => 'found' });
        expect(await agent.ask()).toBe('done');
        expect(agent.told).toHaveLength(1);
        expect(agent.told[0]).toContain(
          'Step budget exhausted: 0/0. All tool calls that this run may make are made or under way. ' +
            'No further tool call will be run. Answer now with what you have.',
        );
        expect(world.started).toEqual([]);
      });

      it('as an abort is what the caller gets, and the model gets no further turn', async () => {
        inWorld({ maxSteps: 1 });
        const agent = world.agent(
          harness,
          turns(times(1, 'search'), times(2, 'search')),
          { search: () => 'found' },
          { onBlocked: 'abort' },
        );
        const error = await errorOf(agent.ask());
        expect(error).toBeInstanceOf(ToolExecutionBlocked);
        expect(error).toMatchObject({ code: 'step-budget', tool: 'search', stepCount: 1 });
        await settled();
        expect(agent.turns).toBe(2);
        expect(world.started).toEqual(['search']);
        expect(world.ended).toMatchObject([{ phase: 'ANSWERING', reason: 'Step budget exhausted: 1/1' }]);
      });

      it('of a model that asks on and on is an abort in the end', async () => {
        inWorld({ maxSteps: 2 });
        const agent = world.agent(harness, () => times(1, 'search'), { search: () => 'found' });
        const error = await errorOf(agent.ask());
        expect(error).toBeInstanceOf(ToolExecutionBlocked);
        await settled();
        expect(world.started).toEqual(['search', 'search']);
        // Two calls, three refusals that the model reads, and the one that it does not.
        expect(agent.turns).toBe(6);
        expect(world.of('call.refused')).toHaveLength(4);
      });

      it('for which the policy ends the run is what the caller gets', async () => {
        inWorld({ maxSteps: 1, onBudgetExhausted: 'terminate' });
        const agent = world.agent(harness, turns(times(1, 'search'), times(1, 'search')), {
          search: () => 'found',
        });
        expect(await errorOf(agent.ask())).toBeInstanceOf(ToolExecutionBlocked);
        expect(world.started).toEqual(['search']);
        expect(world.ended).toMatchObject([{ phase: 'EXHAUSTED' }]);
      });

      it('of many calls of one turn is one, for a model that has read none of them', async () => {
        inWorld({ maxSteps: 2 });
        const agent = world.agent(harness, turns(times(12, 'search')), { search: () => 'found' });
        expect(await agent.ask()).toBe('done');
        expect(world.started).toHaveLength(2);
        expect(agent.told).toHaveLength(12);
      });
    });

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
        const agent = world.agent(
          harness,
          turns(times(2, 'search')),
          { search: () => NEVER },
          { timeoutMs: 50 },
        );
        const error = await errorOf(agent.ask());
        expect(error).toBeInstanceOf(RunAbortedError);
        expect(error).toMatchObject({ code: 'run-timeout' });
        await settled();
        expect(world.started).toEqual(['search']);
        expect(world.ended).toMatchObject([{ reason: 'timeout after 50 ms' }]);
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

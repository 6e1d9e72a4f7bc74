import { type SupervisorOptions, ToolExecutionBlocked } from 'phasegate';
import { afterEach, describe, expect, it } from 'vitest';
import type { Harness } from './harness.ts';
import { errorOf, settled, times, turns, World } from './world.ts';

/** Which calls run, and what the model and the caller hear of those that do not. */
export function describeCalls(harness: Harness): void {
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
  });
}

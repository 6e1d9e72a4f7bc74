import { RunAbortedError, ToolExecutionBlocked } from 'phasegate';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Harness } from './harness.ts';
import { errorOf, gate, read, settled, times, turns, World } from './world.ts';

const NEVER = new Promise<never>(() => {});

/** What every adapter has to do with streams. */
export function describeStreams(harness: Harness): void {
  describe.runIf(harness.streams)(`${harness.name}: a stream`, () => {
    let world: World;

    beforeEach(() => {
      world = new World({ maxSteps: 2 });
    });

    afterEach(() => world.expectSound());

    it('that is read to its end is a run that ends there', async () => {
      const agent = world.agent(harness, turns(times(1, 'search'), times(2, 'search')), {
        search: () => 'found',
      });
      const stream = await agent.stream();
      expect(world.ended).toEqual([]);
      expect(JSON.stringify(await read(stream))).toContain('done');
      expect(world.started).toHaveLength(2);
      expect(agent.told[2]).toContain('Step budget exhausted: 2/2');
      expect(world.ended).toMatchObject([{ phase: 'ANSWERING', reason: null, stepCount: 2 }]);
    });

    it('that is broken off is a run that ends there, and no further body starts', async () => {
      const running = gate();
      const agent = world.agent(harness, () => times(1, 'search'), {
        search: async () => {
          running.open();
          return 'found';
        },
      });
      for await (const _ of await agent.stream()) {
        await running.passed;
        break;
      }
      await vi.waitFor(() => expect(world.ended).toHaveLength(1));
      const { length } = world.started;
      await settled();
      expect(world.started).toHaveLength(length);
      expect(length).toBeLessThanOrEqual(2);
      expect(world.ended[0]?.reason).toContain('broken off');
    });

    it('that nobody reads is a run that ends after a while', async () => {
      const agent = world.agent(
        harness,
        turns(times(1, 'search'), times(1, 'search')),
        { search: () => 'found' },
        { unreadMs: 50 },
      );
      await agent.stream();
      await vi.waitFor(() => expect(world.ended).toHaveLength(1));
      expect(world.ended[0]?.reason).toContain('not read for 50 ms');
      const { length } = world.started;
      await settled();
      expect(world.started).toHaveLength(length);
    });

    it('that waits for a body is being read', async () => {
      const agent = world.agent(
        harness,
        turns(times(1, 'search')),
        { search: () => new Promise((resolve) => setTimeout(resolve, 120)) },
        { unreadMs: 40 },
      );
      expect(JSON.stringify(await read(await agent.stream()))).toContain('done');
      expect(world.ended).toMatchObject([{ reason: null }]);
    });

    it('whose run a refusal aborts fails with the refusal', async () => {
      const agent = world.agent(
        harness,
        turns(times(3, 'search'), times(1, 'search')),
        { search: () => 'found' },
        { onBlocked: 'abort' },
      );
      const error = await errorOf(agent.stream().then(read));
      expect(error).toBeInstanceOf(ToolExecutionBlocked);
      await settled();
      expect(agent.turns).toBe(1);
      expect(world.started).toHaveLength(2);
    });

    it('of a model that asks on and on fails in the end', async () => {
      const agent = world.agent(
        harness,
        () => times(1, 'search'),
        { search: () => 'found' },
        { maxBlocked: 1 },
      );
      expect(await errorOf(agent.stream().then(read))).toBeInstanceOf(ToolExecutionBlocked);
      await settled();
      expect(agent.turns).toBe(4);
    });

    it('that the caller aborts ends, and no further body starts', async () => {
      const caller = new AbortController();
      const stopped = gate();
      const agent = world.agent(harness, turns(times(2, 'search'), times(1, 'search')), {
        search: (_, { signal }) => {
          signal?.addEventListener('abort', () => stopped.open());
          caller.abort(new Error('The user has gone'));
          return NEVER;
        },
      });
      // Some frameworks end such a stream, and some let it fail.
      await agent
        .stream({ signal: caller.signal })
        .then(read)
        .catch((error: Error) => expect(error.message).toContain('The user has gone'));
      await stopped.passed;
      await settled();
      expect(world.started).toEqual(['search']);
      expect(world.ended).toMatchObject([{ reason: 'The user has gone' }]);
    });

    it('that reaches its deadline fails, whatever the body does', async () => {
      const agent = world.agent(
        harness,
        turns(times(1, 'search')),
        { search: () => NEVER },
        { timeoutMs: 50 },
      );
      const error = await errorOf(agent.stream().then(read));
      expect(error).toBeInstanceOf(RunAbortedError);
      expect(error).toMatchObject({ code: 'run-timeout' });
    });

    it('is a run of its own among others at once', async () => {
      const agent = world.agent(harness, (_, told) => (told.length < 2 ? times(1, 'search') : 'done'), {
        search: async () => {
          await settled();
          return 'found';
        },
      });
      await Promise.all([agent.stream().then(read), agent.stream().then(read)]);
      expect(world.started).toHaveLength(4);
      expect(world.ended.map(({ stepCount }) => stepCount)).toEqual([2, 2]);
    });
  });
}

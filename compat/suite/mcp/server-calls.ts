import type { SupervisorOptions } from 'phasegate';
import type { GateOptions } from 'phasegate/mcp';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { errorOf, gate, settled } from '../world.ts';
import { Stage } from './stage.ts';
import { type Extra, INFO, result, signalOf, tellProgress, textOf, type Version } from './version.ts';

/**
 * The calls of a server's sessions. A server has no model, so that of the common scenarios those apply which are about calls;
 * what a refusal does to the session, and where it ends, is in `server-runs.ts`. No caller of a server gets an error of this
 * package thrown, and there are no streams, agents or sub-agents: those are the client's.
 */
export function describeServerCalls(version: Version): void {
  describe('gate.server: calls', () => {
    let stage: Stage;
    const inStage = (rules: SupervisorOptions = {}, options: GateOptions = {}): Stage => {
      stage = new Stage(version, rules, options);
      return stage;
    };
    const { started, ended } = {
      started: () => stage.world.started,
      ended: () => stage.world.of('call.ended').map(({ tool, ok }) => [tool, ok]),
    };

    afterEach(() => stage.close());

    it('run one after another, up to the step budget, and what is refused is an error that says why', async () => {
      const session = await inStage({ maxSteps: 2 }).open({ search: ({ n }) => `found ${n}` });
      expect(await session.call('search', { args: { n: 1 } })).toMatchObject(result('found 1'));
      expect(await session.call('search', { args: { n: 2 } })).toMatchObject(result('found 2'));
      expect(await session.call('search')).toEqual({
        isError: true,
        content: [
          {
            type: 'text',
            text:
              'Step budget exhausted: 2/2. All tool calls that this run may make are made or under way. ' +
              'No further tool call will be run. Answer now with what you have.',
          },
        ],
      });
      expect(started()).toHaveLength(2);
    });

    it.each([2, 8])('%d at once under a budget of six', async (count) => {
      const session = await inStage({ maxSteps: 6 }).open({ search: () => settled() });
      const results = await Promise.all(Array.from({ length: count }, () => session.call('search')));
      const admitted = Math.min(count, 6);
      expect(started()).toHaveLength(admitted);
      expect(results.filter(({ isError }) => isError)).toHaveLength(count - admitted);
    });

    it('at once all run without a gate: the SDK bounds them by nothing', async () => {
      const server = new version.McpServer(INFO);
      const search = inStage().counted('search', () => 'found');
      server.registerTool('search', { inputSchema: z.looseObject({}) }, search);
      const session = await stage.connect(server);
      await Promise.all(Array.from({ length: 8 }, () => session.call('search')));
      expect(started().splice(0)).toHaveLength(8);
    });

    it('at once run one at a time', async () => {
      let running = 0;
      const most: number[] = [];
      const session = await inStage().open({
        search: async () => {
          running += 1;
          most.push(running);
          await settled();
          running -= 1;
        },
      });
      await Promise.all([1, 2, 3].map(() => session.call('search')));
      expect(most).toEqual([1, 1, 1]);
    });

    it('keep the ids that the model gave them, where the client tells', async () => {
      const session = await inStage().open({ search: () => 'found' });
      await session.call('search', { args: { n: 1 }, meta: { 'phasegate/call': 'toolu_1' } });
      await session.call('search', { meta: { 'phasegate/call': 'x'.repeat(129) } });
      expect(stage.world.of('call.started')).toMatchObject([
        { call: 'toolu_1', args: { n: 1 } },
        { call: 'call-2' },
      ]);
    });

    it('fail when they throw, and when their result says so; either is told as the server tells it', async () => {
      const failure = {
        isError: true,
        content: [{ type: 'text', text: 'No such page' }],
        _meta: { page: 7 },
      };
      const session = await inStage().open({
        search: () => {
          throw new Error('The index is gone');
        },
        read: () => failure,
        list: () => 'two pages',
      });
      expect(await session.call('search')).toMatchObject({ isError: true, ...result('The index is gone') });
      expect(await session.call('read')).toMatchObject(failure);
      expect(await session.call('list')).toMatchObject(result('two pages'));
      expect(ended()).toEqual([
        ['search', false],
        ['read', false],
        ['list', true],
      ]);
      await stage.close();
      expect(stage.world.ended).toMatchObject([{ stepCount: 1 }]);
    });

    it('give structured content as it is, and a refusal needs none', async () => {
      const server = inStage({ maxSteps: 1 }).server({});
      const structured = { structuredContent: { pages: [1, 2] }, content: [] };
      const schemas = { outputSchema: z.object({ pages: z.array(z.number()) }) };
      stage.register(server, 'search', () => structured, schemas);
      const session = await stage.connect(server);
      await session.client.listTools();
      expect(await session.call('search')).toMatchObject({ structuredContent: { pages: [1, 2] } });
      const refused = await session.call('search');
      expect(refused).toMatchObject({ isError: true });
      expect(textOf(refused)).toContain('Step budget exhausted: 1/1');
    });

    it('with arguments that the server does not take are not asked for', async () => {
      const server = inStage().server({});
      stage.register(server, 'search', () => 'found', { inputSchema: z.object({ query: z.string() }) });
      const session = await stage.connect(server);
      expect(await session.call('search', { args: { query: 7 } })).toMatchObject({ isError: true });
      expect(stage.world.events).toEqual([]);
    });

    it('that give what the output schema does not take have ended well: the body has run', async () => {
      const server = inStage().server({});
      const schemas = { outputSchema: z.object({ pages: z.number() }) };
      stage.register(server, 'search', () => ({ structuredContent: { pages: 'two' }, content: [] }), schemas);
      const session = await stage.connect(server);
      expect(await session.call('search')).toMatchObject({ isError: true });
      expect(ended()).toEqual([['search', true]]);
    });

    it('tell of their progress', async () => {
      const session = await inStage().open({
        search: async (_, extra) => {
          await tellProgress(extra, 1);
          return 'found';
        },
      });
      const onprogress = vi.fn();
      await session.call('search', { request: { onprogress } });
      expect(onprogress).toHaveBeenCalledWith(expect.objectContaining({ progress: 1 }));
    });

    it('of a client in the body of another are nested in it', async () => {
      const inner = await inStage().connect(plainServer(version));
      const client = stage.gate.client(inner.client);
      const session = await stage.open({
        outer: async () => textOf(await client.callTool({ name: 'inner', arguments: {} })),
      });
      expect(textOf(await session.call('outer'))).toBe('inner');
      const [outer, nested] = stage.world.of('call.started');
      expect(nested).toMatchObject({ tool: 'inner', parent: outer?.call, run: outer?.run });
    });

    describe('that are cancelled', () => {
      it('stop the body, and have failed', async () => {
        const running = gate();
        const caller = new AbortController();
        const session = await inStage().open({
          search: (_, extra) => {
            running.open();
            return untilAborted(extra);
          },
          read: () => 'a page',
        });
        const asked = errorOf(session.call('search', { request: { signal: caller.signal } }));
        await running.passed;
        caller.abort();
        await asked;
        expect(await session.call('read')).toMatchObject(result('a page'));
        expect(ended()).toEqual([
          ['search', false],
          ['read', true],
        ]);
      });

      it('while they wait their turn never start', async () => {
        const running = gate();
        const finish = gate();
        const caller = new AbortController();
        const session = await inStage().open({
          search: () => {
            running.open();
            return finish.passed;
          },
          read: () => 'a page',
        });
        const first = session.call('search');
        await running.passed;
        const waiting = errorOf(session.call('read', { request: { signal: caller.signal } }));
        await vi.waitFor(() => expect(stage.world.of('call.waiting')).toHaveLength(1));
        caller.abort();
        await waiting;
        await settled();
        finish.open();
        await first;
        await vi.waitFor(() => expect(ended()).toContainEqual(['read', false]));
        expect(started()).toEqual(['search']);
      });

      it('by a timeout of the client stay in flight while the body goes on, and count when it ends well', async () => {
        const finish = gate();
        const session = await inStage({ maxSteps: 1 }).open({ search: () => finish.passed });
        await errorOf(session.call('search', { request: { timeout: 30 } }));
        const [run] = stage.world.of('run.started');
        expect(ended()).toEqual([]);
        const next = session.call('search');
        await vi.waitFor(() => expect(stage.world.of('call.waiting')).toHaveLength(1));
        finish.open();
        // It had its effect: the budget is spent.
        expect(textOf(await next)).toContain('Step budget exhausted: 1/1');
        expect(ended()).toEqual([['search', true]]);
        expect(run).toMatchObject({ parent: null });
      });
    });
  });
}

function untilAborted(extra: Extra): Promise<never> {
  return new Promise((_, reject) => {
    signalOf(extra)?.addEventListener('abort', () => reject(new Error('Stopped')));
  });
}

function plainServer({ McpServer }: Version) {
  const server = new McpServer(INFO);
  server.registerTool('inner', { inputSchema: z.looseObject({}) }, async () => result('inner'));
  return server;
}

import { PhasegateError } from 'phasegate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { errorOf } from '../world.ts';
import { Stage } from './stage.ts';
import { type Any, INFO, result, textOf, type Version } from './version.ts';

/** The tools of a server, from their registration to their removal. */
export function describeServerTools(version: Version): void {
  describe('gate.server: tools', () => {
    let stage: Stage;
    let server: Any;

    beforeEach(() => {
      // Whatever starts has gone past the budget.
      stage = new Stage(version, { maxSteps: 0 }, { maxBlocked: Number.POSITIVE_INFINITY });
      server = stage.server({});
    });

    afterEach(() => stage.close());

    const isRefused = async (name = 'search') => {
      const session = await stage.connect(server);
      const answer = await session.call(name);
      await session.close();
      expect(answer).toMatchObject({ isError: true });
      expect(textOf(answer)).toContain('Step budget exhausted: 0/0');
      expect(stage.world.started).toEqual([]);
    };
    const counted = (name = 'search') => stage.counted(name, () => 'found');

    it('without parameters are asked for, too', async () => {
      server.registerTool('search', {}, counted());
      await isRefused();
    });

    it('that are registered while a client is connected are asked for', async () => {
      stage.register(server, 'read', () => 'a page');
      const session = await stage.connect(server);
      stage.register(server, 'search', () => 'found');
      expect(await session.call('search')).toMatchObject({ isError: true });
      expect(stage.world.started).toEqual([]);
    });

    it('that get another handler are asked for', async () => {
      const handle = stage.register(server, 'search', () => 'found');
      handle.update({ callback: counted() });
      await isRefused();
      const shape = { query: z.string().optional() };
      handle.update({ paramsSchema: version.schemaFirst ? shape : z.object(shape), callback: counted() });
      await isRefused();
    });

    it('whose handler is replaced on the handle are asked for', async () => {
      const handle = stage.register(server, 'search', () => 'found');
      for (const key of ['handler', 'executor', 'callback'].filter((name) => name in handle)) {
        handle[key] = counted();
        await isRefused();
      }
    });

    it('are known by their new name', async () => {
      const handle = stage.register(server, 'search', () => 'found');
      handle.update({ name: 'find' });
      await isRefused('find');
      expect(stage.world.of('call.refused')).toMatchObject([{ tool: 'find' }]);
    });

    it('are disabled, enabled and removed as before', async () => {
      stage.register(server, 'read', () => 'a page');
      const handle = stage.register(server, 'search', () => 'found');
      const session = await stage.connect(server);
      const listed = async () => (await session.client.listTools()).tools.map(({ name }: Any) => name);
      handle.disable();
      expect(handle.enabled).toBe(false);
      expect(await listed()).toEqual(['read']);
      handle.enable();
      expect(await listed()).toEqual(['read', 'search']);
      expect(await session.call('search')).toMatchObject({ isError: true });
      handle.remove();
      expect(await listed()).toEqual(['read']);
      expect(stage.world.started).toEqual([]);
    });

    it('keep what they are registered with', async () => {
      const config = {
        title: 'Search',
        description: 'Searches.',
        annotations: { readOnlyHint: true },
        inputSchema: z.object({ query: z.string() }),
        outputSchema: z.object({ found: z.number() }),
      };
      const plain = new version.McpServer(INFO);
      plain.registerTool('search', config, counted());
      server.registerTool('search', config, counted());
      const listed = await Promise.all(
        [plain, server].map(async (one) => (await (await stage.connect(one)).client.listTools()).tools),
      );
      expect(listed[1]).toEqual(listed[0]);
    });

    it('cannot be called past the server', async () => {
      const handle = stage.register(server, 'search', () => 'found');
      expect(textOf(await handle.handler({}))).toContain('its handler was called by no server');
      expect(textOf(await handle.handler({}, { signal: new AbortController().signal }))).toContain(
        'the session was closed',
      );
      expect(stage.world.started).toEqual([]);
    });

    it('that were there before are not taken', () => {
      const given = new version.McpServer(INFO);
      given.registerTool('search', {}, async () => result('found'));
      expect(() => stage.gate.server(given)).toThrow(
        expect.objectContaining({
          code: 'unsupervised-tool',
          message:
            'The server has tools that are not under enforcement: search. Register tools after gate.server(…)',
        }),
      );
    });

    it('are asked for once, however often their server goes through the gate', async () => {
      expect(stage.gate.server(server)).toBe(server);
      stage.register(server, 'search', () => 'found');
      expect(stage.gate.server(server)).toBe(server);
      await isRefused();
      expect(stage.world.of('call.refused')).toHaveLength(1);
    });

    it('are those of a server', async () => {
      for (const given of [null, {}, new version.McpServer(INFO).server, 'server']) {
        expect(() => stage.gate.server(given as never)).toThrow(PhasegateError);
        expect(() => stage.gate.client(given as never)).toThrow(PhasegateError);
      }
    });
  });

  describe('gate.client', () => {
    it('leaves the client as it is, and all else of it', async () => {
      const stage = new Stage(version, { maxSteps: 0 });
      const plain = new version.McpServer(INFO);
      plain.registerTool('search', {}, async () => result('found'));
      const { client } = await stage.connect(plain);
      const supervised = stage.gate.client(client);
      expect(supervised).toBeInstanceOf(version.Client);
      expect((await supervised.listTools()).tools).toHaveLength(1);
      expect(await client.callTool({ name: 'search' })).toMatchObject(result('found'));
      expect(await errorOf(supervised.callTool({ name: 'search' }))).toMatchObject({ code: 'no-active-run' });
      await stage.close();
    });

    it('ends a run that asks on and on, turn by turn, also one inside of a call', async () => {
      const stage = new Stage(version, { maxSteps: 1 });
      const { client } = await stage.connect(new version.McpServer(INFO));
      const supervised = stage.gate.client(client);
      let turns = 0;
      const spin = () =>
        stage.gate.run(async () => {
          for (; turns < 10; turns += 1) {
            await Promise.all([1, 2].map(() => supervised.callTool({ name: 'search' })));
          }
        });
      const error = await errorOf(stage.gate.run((run) => run.callTool('research', {}, spin)));
      expect(error).toMatchObject({ code: 'step-budget', tool: 'search' });
      expect(turns).toBe(3);
      await stage.close();
    });

    it('takes options as the client does, and sends the id of the run if it is told to', async () => {
      const stage = new Stage(version);
      const plain = new version.McpServer(INFO);
      const meta: unknown[] = [];
      plain.registerTool('search', {}, async (extra: Any) => {
        meta.push((extra.mcpReq ?? extra)._meta);
        return result('found');
      });
      const { client } = await stage.connect(plain);
      const twice = stage.gate.client(stage.gate.client(client), { sendRunId: true });
      const id = await stage.gate.run(async (run) => {
        const timeout = { timeout: 5000 };
        const rest = version.schemaFirst ? [undefined, timeout] : [timeout];
        await twice.callTool({ name: 'search', _meta: { other: 1 } }, ...rest);
        return run.id;
      });
      expect(meta).toEqual([expect.objectContaining({ 'phasegate/run': id, other: 1 })]);
      await stage.close();
    });
  });
}

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SupervisorOptions } from 'phasegate';
import type { GateOptions } from 'phasegate/mcp';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { gate, settled } from '../world.ts';
import { type Session, Stage } from './stage.ts';
import { type Any, INFO, signalOf, textOf, type Version } from './version.ts';

const found = { search: () => 'found' };

/** Servers on HTTP, with sessions and without. */
export function describeHttp(version: Version): void {
  describe('gate.server: Streamable HTTP', () => {
    let stage: Stage;
    let http: Server;

    afterEach(async () => {
      await stage.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    });

    /** @param handle Answers a request with a transport. */
    async function listen(transportFor: (request: IncomingMessage) => Promise<Any>): Promise<URL> {
      http = createServer((request, response) => {
        transportFor(request)
          .then((transport) => transport.handleRequest(request, response))
          .catch((error: unknown) => response.writeHead(500).end(`${error}`));
      });
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
      return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    }

    async function open(url: URL): Promise<Session> {
      const client = new version.Client(INFO);
      await client.connect(version.httpClientTransport(url));
      return stage.sessionOf(client);
    }

    /** A server and a transport for each session, as the SDK recommends. */
    async function withSessions(handlers: Parameters<Stage['server']>[0]): Promise<URL> {
      const transports = new Map<string, Any>();
      return await listen(async ({ headers }) => {
        const known = transports.get(`${headers['mcp-session-id']}`);
        if (known !== undefined) return known;
        const transport = version.httpTransport((id, opened) => transports.set(id, opened));
        await stage.server(handlers).connect(transport);
        return transport;
      });
    }

    /** A server and a transport for each request. */
    async function withoutSessions(clientId?: () => string): Promise<URL> {
      return await listen(async (request) => {
        if (clientId) Object.assign(request, { auth: { token: 't', clientId: clientId(), scopes: [] } });
        const transport = version.httpTransport();
        await stage.server(found).connect(transport);
        return transport;
      });
    }

    const inStage = (rules: SupervisorOptions, options?: GateOptions) => {
      stage = new Stage(version, rules, options);
    };

    it('two sessions at once have a budget each', async () => {
      inStage({ maxSteps: 2 });
      const url = await withSessions(found);
      const sessions = await Promise.all([open(url), open(url)]);
      const answers = await Promise.all(
        sessions.flatMap((session) => [1, 2, 3].map(() => session.call('search'))),
      );
      expect(answers.filter(({ isError }) => isError)).toHaveLength(2);
      expect(stage.world.started).toHaveLength(4);
      expect(stage.world.of('run.started')).toHaveLength(2);
      for (const { client } of sessions) await client.transport.terminateSession();
      await vi.waitFor(() => expect(stage.world.ended.map(({ stepCount }) => stepCount)).toEqual([2, 2]));
    });

    it('a session that is ended while a body runs stops it, and nobody may go on with it', async () => {
      inStage({});
      const running = gate();
      const stopped = gate();
      const url = await withSessions({
        search: (_, extra) => {
          signalOf(extra)?.addEventListener('abort', () => stopped.open());
          running.open();
          return new Promise(() => {});
        },
      });
      const session = await open(url);
      const asked = session.call('search').catch(() => undefined);
      await running.passed;
      await session.client.transport.terminateSession();
      await stopped.passed;
      await session.close();
      await asked;
      expect(stage.world.ended).toMatchObject([{ reason: 'the session was closed' }]);
    });

    it('without sessions a call is refused that names no run: it would have a budget of its own', async () => {
      inStage({});
      const session = await open(await withoutSessions());
      expect(textOf(await session.call('search'))).toContain(
        'the server keeps no sessions, and the call names no run',
      );
      expect(stage.world.started).toEqual([]);
    });

    it('without sessions the calls are of the run that they name, and which ends when it was idle', async () => {
      inStage({ maxSteps: 2 }, { idleMs: 300 });
      const url = await withoutSessions();
      const [one, other] = [await open(url), await open(url)];
      for (const session of [one, other]) await session.callIn('a');
      await settled();
      expect(textOf(await one.callIn('a'))).toContain('Step budget exhausted: 2/2');
      expect(stage.world.started).toHaveLength(2);
      await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
    });

    it('without sessions two clients that are known cannot meet in one run', async () => {
      inStage({ maxSteps: 1 }, { idleMs: 300 });
      let client = 'nobody';
      const session = await open(await withoutSessions(() => client));
      const refused: unknown[] = [];
      for (client of ['ann', 'ann', 'bob']) refused.push((await session.callIn('a')).isError ?? false);
      expect(refused).toEqual([false, true, false]);
      expect(stage.world.of('run.started')).toHaveLength(2);
    });

    it('without sessions the server may say itself whose the run is', async () => {
      inStage({ maxSteps: 1 }, { idleMs: 300, runFrom: ({ authInfo }) => authInfo?.clientId });
      const session = await open(await withoutSessions(() => 'ann'));
      expect(await session.callIn('a')).not.toMatchObject({ isError: true });
      expect(textOf(await session.callIn('b'))).toContain('Step budget exhausted: 1/1');
    });
  });
}

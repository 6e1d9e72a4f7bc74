import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorOf, gate as handle, settled, times, turns } from '../world.ts';
import type { Version } from './model.ts';
import { Stage } from './stage.ts';

/** The many ways to read the result of `streamText`. */
export function describeResults(version: Version): void {
  const { ai } = version;
  let stage: Stage;

  beforeEach(() => {
    stage = new Stage(version);
  });

  describe('a streamed result', () => {
    afterEach(() => stage.world.expectSound());

    it('of which only a promise is awaited is a run that ends with it', async () => {
      const result = stage.stream(turns(times(1, 'search')), () => 'found');
      expect(await result.text).toBe('done');
      expect(await result.steps).toHaveLength(2);
      expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 1 }]);
    });

    it('that is read twice goes on when one reader breaks off', async () => {
      const result = stage.stream(turns(times(1, 'search'), times(1, 'search')), () => 'found');
      const rest = result.consumeStream();
      for await (const _ of result.fullStream) break;
      expect(stage.world.ended).toEqual([]);
      await rest;
      expect(stage.world.started).toHaveLength(2);
      expect(stage.world.ended).toMatchObject([{ reason: null }]);
    });

    it('fails in all its promises when a refusal aborts it', async () => {
      const result = stage.stream(turns(times(4, 'search')), () => 'found', { onBlocked: 'abort' });
      const errors = await Promise.all([result.text, result.usage, result.finishReason].map(errorOf));
      for (const error of errors) expect(error).toMatchObject({ code: 'step-budget' });
      expect(await errorOf(result.text)).toMatchObject({ code: 'step-budget' });
    });

    it('as a response breaks off when a refusal aborts it', async () => {
      const result = stage.stream(turns(times(4, 'search')), () => 'found', { onBlocked: 'abort' });
      const error = await errorOf(result.toUIMessageStreamResponse().text());
      expect(error).toMatchObject({ code: 'step-budget' });
    });

    it('as a response ends its run with its body', async () => {
      const result = stage.stream(turns(times(1, 'search')), () => 'found');
      const response = result.toUIMessageStreamResponse({ status: 201, headers: { 'x-kept': 'yes' } });
      expect([response.status, response.headers.get('x-kept')]).toEqual([201, 'yes']);
      expect(stage.world.ended).toEqual([]);
      expect(await response.text()).toContain('done');
      expect(stage.world.ended).toMatchObject([{ reason: null }]);
    });

    it('as a response that is cancelled ends its run, and no further body starts', async () => {
      const result = stage.stream(
        () => times(1, 'search'),
        () => 'found',
      );
      const body = result.toTextStreamResponse().body as ReadableStream;
      await body.cancel();
      expect(stage.world.ended).toHaveLength(1);
      const { length } = stage.world.started;
      await settled();
      expect(stage.world.started).toHaveLength(length);
    });

    it('made inside of gate.run as a response is watched as well', async () => {
      const settings = stage.settings(turns(times(1, 'search')), () => 'found');
      const gate = stage.gate();
      const tools = gate.tools(settings.tools);
      const response = gate.run((run) =>
        ai.streamText({ ...settings, tools, abortSignal: run.signal }).toTextStreamResponse(),
      ) as Response;
      expect(await response.text()).toBe('done');
      expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 1 }]);
    });

    const serve = async (listener: RequestListener, use: (url: string) => Promise<void>) => {
      const server = createServer(listener).listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
      } finally {
        server.closeAllConnections();
        server.close();
      }
    };

    it('that is piped into a response of Node ends its run when the response does', async () => {
      const listener: RequestListener = (_, response) => {
        stage.stream(turns(times(1, 'search')), () => 'found').pipeUIMessageStreamToResponse(response);
      };
      await serve(listener, async (url) => {
        expect(await (await fetch(url)).text()).toContain('done');
        await vi.waitFor(() => expect(stage.world.ended).toMatchObject([{ reason: null }]));
      });
    });

    it('that is piped into a response of Node ends its run when the client goes', async () => {
      const running = handle();
      const stopped = handle();
      const client = new AbortController();
      const body = (_: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
        running.open();
        abortSignal.addEventListener('abort', () => stopped.open());
        return new Promise(() => {});
      };
      const listener: RequestListener = (_, response) => {
        stage.stream(turns(times(1, 'search')), body).pipeUIMessageStreamToResponse(response);
      };
      await serve(listener, async (url) => {
        const fetched = fetch(url, { signal: client.signal }).then((response) => response.text());
        await running.passed;
        client.abort();
        await errorOf(fetched);
        await stopped.passed;
        expect(stage.world.ended).toHaveLength(1);
      });
    });
  });
}

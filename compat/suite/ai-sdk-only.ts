/** What only the AI SDK has: tools that give their result in pieces, and results that can be read in many ways. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { findToolExecutionBlocked } from 'phasegate';
import { type GateOptions, supervise } from 'phasegate/ai-sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { modelOf, type Tools, type Version } from './ai-sdk.ts';
import type { Script } from './harness.ts';
import { errorOf, gate as handle, read, settled, times, turns, World } from './world.ts';

export function describeAiSdk(version: Version): void {
  const { ai, stepCountIs } = version;

  describe('only in the AI SDK', () => {
    let world: World;

    beforeEach(() => {
      world = new World({ maxSteps: 3 });
    });

    const gateOf = (options?: GateOptions) => supervise(world.enforcement, options);
    const toolOf = (execute: (input: { n: number }, options: { toolCallId: string }) => unknown) =>
      ai.tool({ inputSchema: ai.jsonSchema({ type: 'object' }), execute });
    const settings = (script: Script, search: unknown, options?: GateOptions) => {
      const tools = { search: toolOf(counting(search as () => unknown)) };
      return {
        gate: gateOf(options),
        model: modelOf(version, script),
        tools,
        prompt: 'Go',
        stopWhen: stepCountIs(20),
      };
    };
    const counting = (body: (input: never, options: never) => unknown) =>
      function counted(input: unknown, options: unknown) {
        world.started.push('search');
        return body(input as never, options as never);
      };
    const streamOf = (script: Script, search: unknown, options?: GateOptions) => {
      const { gate, ...rest } = settings(script, search, options);
      return gate.agent(ai.streamText)(rest);
    };

    it('its own limit counts turns: one step lets all eight calls of it run', async () => {
      const body = vi.fn(() => 'found');
      await ai.generateText({
        model: modelOf(version, turns(times(8, 'search'))),
        tools: { search: toolOf(body) },
        prompt: 'Go',
        stopWhen: stepCountIs(1),
      });
      expect(body).toHaveBeenCalledTimes(8);
    });

    describe('a body that gives its result in pieces', () => {
      afterEach(() => world.expectSound());

      async function* pieces() {
        yield 'one';
        await settled();
        yield 'two';
      }

      const results = (parts: unknown[]) =>
        (parts as { type: string; output?: unknown; preliminary?: boolean }[])
          .filter(({ type }) => type === 'tool-result')
          .map(({ output, preliminary }) => `${output}${preliminary ? ' …' : ''}`);

      it.each([
        ['a generator', pieces],
        ['a function that returns an iterable', () => pieces()],
      ])('as %s, is in flight until the last piece', async (_, body) => {
        const seen: number[] = [];
        world.enforcement.on(({ type }) => type === 'call.ended' && seen.push(-1));
        const { gate, ...rest } = settings(turns(times(1, 'search')), body);
        const result = gate.agent(ai.streamText)({
          ...rest,
          onChunk: ({ chunk }: { chunk: { type: string } }) => chunk.type === 'tool-result' && seen.push(1),
        });
        expect(results(await read(result.fullStream))).toEqual(['one …', 'two …', 'two']);
        expect(seen.indexOf(-1)).toBeGreaterThanOrEqual(1);
        expect(world.of('call.ended')).toMatchObject([{ ok: true }]);
      });

      it('waits its turn as others do', async () => {
        async function* generated() {
          yield* pieces();
        }
        const result = streamOf(turns(times(2, 'search')), generated);
        expect(results(await read(result.fullStream)).sort()).toEqual(
          ['one …', 'two …', 'two', 'one …', 'two …', 'two'].sort(),
        );
        expect(world.of('call.waiting')).toHaveLength(1);
      });

      it('that was not known to do so, and has waited, gives the last piece', async () => {
        const result = streamOf(turns(times(2, 'search')), () => pieces());
        expect(results(await read(result.fullStream))).toContain('two');
        expect(await result.text).toBe('done');
        expect(world.of('call.ended')).toHaveLength(2);
      });

      it('makes nested calls from inside', async () => {
        const gate = gateOf();
        const tools: Tools = gate.tools({
          inner: toolOf(() => 'inner'),
          outer: toolOf(async function* (input, options) {
            yield 'first';
            yield await tools['inner']?.execute(input, options);
          }),
        });
        await gate.agent(ai.generateText)({
          model: modelOf(version, turns(times(1, 'outer'))),
          tools,
          prompt: 'Go',
          stopWhen: stepCountIs(20),
        });
        expect(world.of('call.started')).toMatchObject([
          { tool: 'outer' },
          { tool: 'inner', parent: 'asked-1' },
        ]);
      });

      it('that throws between pieces has failed', async () => {
        const result = streamOf(turns(times(1, 'search')), async function* () {
          yield 'one';
          throw new Error('The index is gone');
        });
        const parts = (await read(result.fullStream)) as { type: string; error?: unknown }[];
        expect(parts.find(({ type }) => type === 'tool-error')?.error).toMatchObject({
          message: 'The index is gone',
        });
        expect(world.of('call.ended')).toMatchObject([{ ok: false }]);
      });

      it('is told of the end of its run, and cleans up', async () => {
        const cleaned = handle();
        const controller = new AbortController();
        const { gate, ...rest } = settings(turns(times(1, 'search')), async function* () {
          try {
            yield 'one';
            controller.abort(new Error('Enough'));
            yield 'two';
          } finally {
            cleaned.open();
          }
        });
        await read(gate.agent(ai.streamText)({ ...rest, abortSignal: controller.signal }).fullStream);
        await cleaned.passed;
      });
    });

    describe('a refusal', () => {
      it('is the cause of the error that the framework keeps', async () => {
        const { gate, ...rest } = settings(turns(times(4, 'search')), () => 'found');
        const result = await gate.agent(ai.generateText)(rest);
        const errors = result.steps[0].content.filter(({ type }: { type: string }) => type === 'tool-error');
        expect(errors).toHaveLength(1);
        expect(findToolExecutionBlocked(errors[0].error)).toMatchObject({ code: 'step-budget' });
      });
    });

    describe('an agent', () => {
      it('with a tool that has not been through tools() is not taken', () => {
        const gate = gateOf();
        const tools = { ...gate.tools({ search: toolOf(() => 'found') }), read: toolOf(() => 'page') };
        const agent = new ai.ToolLoopAgent({ model: modelOf(version, () => 'done'), tools });
        expect(() => gate.agent(agent)).toThrow(expect.objectContaining({ code: 'unsupervised-tool' }));
        expect(() => gate.agent(agent)).toThrow('read');
      });

      it('is for the rest as it was', () => {
        const gate = gateOf();
        const tools = gate.tools({ search: toolOf(() => 'found') });
        const agent = new ai.ToolLoopAgent({ id: 'finder', model: modelOf(version, () => 'done'), tools });
        const supervised = gate.agent(agent) as typeof agent;
        expect(supervised).toBeInstanceOf(ai.ToolLoopAgent);
        expect([supervised.id, supervised.version, supervised.tools]).toEqual([
          'finder',
          agent.version,
          tools,
        ]);
      });

      it('answers a chat', async () => {
        const gate = gateOf();
        const tools = gate.tools({ search: toolOf(counting(() => 'found')) });
        const agent = gate.agent(
          new ai.ToolLoopAgent({ model: modelOf(version, turns(times(1, 'search'))), tools }),
        );
        const uiMessages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'Go' }] }];
        const response = await ai.createAgentUIStreamResponse({ agent, uiMessages });
        expect(await response.text()).toContain('done');
        expect(world.started).toEqual(['search']);
        world.expectSound();
      });
    });

    describe('a streamed result', () => {
      afterEach(() => world.expectSound());

      it('of which only a promise is awaited is a run that ends with it', async () => {
        const result = streamOf(turns(times(1, 'search')), () => 'found');
        expect(await result.text).toBe('done');
        expect(await result.steps).toHaveLength(2);
        expect(world.ended).toMatchObject([{ reason: null, stepCount: 1 }]);
      });

      it('that is read twice goes on when one reader breaks off', async () => {
        const result = streamOf(turns(times(1, 'search'), times(1, 'search')), () => 'found');
        const rest = result.consumeStream();
        for await (const _ of result.fullStream) break;
        expect(world.ended).toEqual([]);
        await rest;
        expect(world.started).toHaveLength(2);
        expect(world.ended).toMatchObject([{ reason: null }]);
      });

      it('fails in all its promises when a refusal aborts it', async () => {
        const result = streamOf(turns(times(4, 'search')), () => 'found', { onBlocked: 'abort' });
        const errors = await Promise.all([result.text, result.usage, result.finishReason].map(errorOf));
        for (const error of errors) expect(error).toMatchObject({ code: 'step-budget' });
        expect(await errorOf(result.text)).toMatchObject({ code: 'step-budget' });
      });

      it('as a response ends its run with its body', async () => {
        const result = streamOf(turns(times(1, 'search')), () => 'found');
        const response = result.toUIMessageStreamResponse({ status: 201, headers: { 'x-kept': 'yes' } });
        expect([response.status, response.headers.get('x-kept')]).toEqual([201, 'yes']);
        expect(world.ended).toEqual([]);
        expect(await response.text()).toContain('done');
        expect(world.ended).toMatchObject([{ reason: null }]);
      });

      it('as a response that is cancelled ends its run, and no further body starts', async () => {
        const result = streamOf(
          () => times(1, 'search'),
          () => 'found',
        );
        const body = result.toTextStreamResponse().body as ReadableStream;
        await body.cancel();
        expect(world.ended).toHaveLength(1);
        const { length } = world.started;
        await settled();
        expect(world.started).toHaveLength(length);
      });

      it('made inside of gate.run as a response is watched as well', async () => {
        const { gate, ...rest } = settings(turns(times(1, 'search')), () => 'found');
        const tools = gate.tools(rest.tools);
        const response = gate.run((run) =>
          ai.streamText({ ...rest, tools, abortSignal: run.signal }).toTextStreamResponse(),
        ) as Response;
        expect(await response.text()).toBe('done');
        expect(world.ended).toMatchObject([{ reason: null, stepCount: 1 }]);
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
          streamOf(turns(times(1, 'search')), () => 'found').pipeUIMessageStreamToResponse(response);
        };
        await serve(listener, async (url) => {
          expect(await (await fetch(url)).text()).toContain('done');
          await vi.waitFor(() => expect(world.ended).toMatchObject([{ reason: null }]));
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
          streamOf(turns(times(1, 'search')), body).pipeUIMessageStreamToResponse(response);
        };
        await serve(listener, async (url) => {
          const fetched = fetch(url, { signal: client.signal }).then((response) => response.text());
          await running.passed;
          client.abort();
          await errorOf(fetched);
          await stopped.passed;
          expect(world.ended).toHaveLength(1);
        });
      });
    });
  });
}

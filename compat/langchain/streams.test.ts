import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';
import { ToolExecutionBlocked } from 'phasegate';
import type { GateOptions } from 'phasegate/langchain';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Script } from '../suite/harness.ts';
import { errorOf, read, settled, times, turns } from '../suite/world.ts';
import type { Invocable } from './harness.ts';
import { ScriptedModel } from './model.ts';
import { GO, Stage } from './stage.ts';

const MODES = ['updates', 'messages', 'values', ['updates', 'messages', 'values']] as const;

interface Streaming extends Invocable {
  streamEvents(input: object, config: object): AsyncIterable<unknown>;
}

describe.each(['createAgent', 'createReactAgent'] as const)('a stream of %s', (kind) => {
  let stage: Stage;

  afterEach(() => stage.world.expectSound());

  const agentOf = (script: Script, options?: GateOptions): Streaming => {
    stage = new Stage({ maxSteps: 2 });
    const gate = stage.gate(options);
    const model = new ScriptedModel(script);
    const tools = gate.tools([stage.tool('search', () => 'found')]);
    const agent =
      kind === 'createAgent' ? createAgent({ model, tools }) : createReactAgent({ llm: model, tools });
    return gate.agent(agent as never) as Streaming;
  };

  describe.each(MODES.map((mode) => [String(mode), mode] as const))('in the mode %s', (_, streamMode) => {
    it('that is read is a run that ends with it', async () => {
      const agent = agentOf(turns(times(1, 'search'), times(2, 'search')));
      const pieces = await read(await agent.stream(GO, { streamMode }));
      expect(JSON.stringify(pieces)).toContain('done');
      expect(JSON.stringify(pieces)).toContain('Step budget exhausted: 2/2');
      expect(stage.world.started).toHaveLength(2);
      expect(stage.world.ended).toMatchObject([{ phase: 'ANSWERING', reason: null, stepCount: 2 }]);
    });

    it('that is broken off is a run that ends there', async () => {
      const agent = agentOf(() => times(1, 'search'));
      for await (const _ of await agent.stream(GO, { streamMode })) break;
      await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
      expect(stage.world.ended[0]?.reason).toContain('broken off');
      const { length } = stage.world.started;
      await settled();
      expect(stage.world.started).toHaveLength(length);
    });

    it('that nobody reads is a run that ends after a while', async () => {
      const agent = agentOf(turns(times(1, 'search')), { unreadMs: 50 });
      await agent.stream(GO, { streamMode });
      await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
      expect(stage.world.ended[0]?.reason).toContain('not read for 50 ms');
      const { length } = stage.world.started;
      await settled();
      expect(stage.world.started).toHaveLength(length);
    });
  });

  it('goes on without any reader, and no further than its budget', async () => {
    const agent = agentOf(() => times(8, 'search'));
    await agent.stream(GO);
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
    expect(stage.world.ended[0]?.reason).toBe('Step budget exhausted: 2/2');
    expect(stage.world.started).toHaveLength(2);
  });

  it('is one of the framework, which can be stepped through and left', async () => {
    const agent = agentOf(() => times(1, 'search'));
    const stream = (await agent.stream(GO)) as AsyncIterator<unknown> & AsyncIterable<unknown>;
    expect(stream.constructor.name).toBe('IterableReadableStream');
    expect(await stream.next()).toMatchObject({ done: false });
    await stream.return?.();
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
  });

  it('of events is a run that ends with it', async () => {
    const agent = agentOf(turns(times(1, 'search'), times(2, 'search')));
    const events = await read(agent.streamEvents(GO, { version: 'v2' }));
    expect(events.length).toBeGreaterThan(0);
    expect(stage.world.started).toHaveLength(2);
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('of events fails with the refusal that aborts its run', async () => {
    const agent = agentOf(turns(times(3, 'search')), { onBlocked: 'abort' });
    const error = await errorOf(read(agent.streamEvents(GO, { version: 'v2' })));
    expect(error).toBeInstanceOf(ToolExecutionBlocked);
  });
});

describe('a result of streamEvents of version 3', () => {
  let stage: Stage;

  afterEach(() => stage.world.expectSound());

  const streamOf = async (script: Script, options?: GateOptions) => {
    stage = new Stage({ maxSteps: 2 });
    const gate = stage.gate(options);
    const tools = gate.tools([stage.tool('search', () => 'found')]);
    const agent = gate.agent(createAgent({ model: new ScriptedModel(script), tools }));
    return await agent.streamEvents(GO, { version: 'v3' });
  };

  it('whose output is awaited is a run that ends with it', async () => {
    const stream = await streamOf(turns(times(1, 'search'), times(2, 'search')));
    expect((await stream.output).messages.at(-1)?.text).toBe('done');
    expect(stage.world.started).toHaveLength(2);
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('whose messages are read is a run that ends with them', async () => {
    const stream = await streamOf(turns(times(1, 'search'), times(2, 'search')));
    let texts = '';
    for await (const message of stream.messages) texts += await message.text;
    expect(texts).toContain('done');
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('fails with the refusal that aborts its run', async () => {
    const stream = await streamOf(turns(times(3, 'search')), { onBlocked: 'abort' });
    expect(await errorOf(stream.output)).toBeInstanceOf(ToolExecutionBlocked);
  });

  it('that nobody reads is a run that ends after a while', async () => {
    await streamOf(turns(times(1, 'search')), { unreadMs: 50 });
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
    expect(stage.world.ended[0]?.reason).toContain('not read for 50 ms');
  });
});

import type { Readable } from 'node:stream';
import { StreamedRunResult } from '@openai/agents';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorOf, gate as handle, read, settled, times, turns } from '../suite/world.ts';
import { Stage } from './stage.ts';

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

afterEach(() => stage.world.expectSound());

/** Asks for a stream of an agent that searches twice. */
function stream(script = turns(times(1, 'search'), times(1, 'search')), options?: { signal?: AbortSignal }) {
  const agent = stage.agent(script, { tools: [stage.tool('search')] });
  return stage.run(agent, 'Go', { ...options, stream: true });
}

describe('a streamed result', () => {
  it('is a result of the SDK still', async () => {
    const result = await stream();
    expect(result).toBeInstanceOf(StreamedRunResult);
    await read(result);
    expect([result.finalOutput, result.currentTurn, result.cancelled, result.error]).toEqual([
      'done',
      3,
      false,
      null,
    ]);
    expect(result.history.length).toBe(6);
    await result.completed;
  });

  it('of which only the end is awaited is a run that ends with it', async () => {
    const result = await stream();
    await result.completed;
    expect(result.finalOutput).toBe('done');
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('as texts is a run that ends with the last', async () => {
    const result = await stream();
    expect(await read(result.toTextStream() as unknown as AsyncIterable<string>)).toEqual(['done']);
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('as a stream of Node is one, and a run that ends with it', async () => {
    const result = await stream();
    const texts: Readable = result.toTextStream({ compatibleWithNodeStreams: true });
    let text = '';
    texts.on('data', (piece) => {
      text += piece;
    });
    await new Promise((resolve) => texts.once('end', resolve));
    expect(text).toBe('done');
    expect(stage.world.ended).toMatchObject([{ reason: null, stepCount: 2 }]);
  });

  it('as a stream of Node that is destroyed ends its run, and no further body starts', async () => {
    const result = await stream(() => times(1, 'search'));
    result.toTextStream({ compatibleWithNodeStreams: true }).resume().destroy();
    await vi.waitFor(() => expect(stage.world.ended).toHaveLength(1));
    const { length } = stage.world.started;
    await settled();
    expect(stage.world.started).toHaveLength(length);
    expect(stage.world.ended[0]?.reason).toContain('broken off');
  });

  it('that is cancelled ends its run, and the SDK knows of it', async () => {
    const result = await stream(() => times(1, 'search'));
    await (result.toStream() as unknown as ReadableStream).cancel();
    expect(stage.world.ended).toHaveLength(1);
    expect(result.cancelled).toBe(true);
  });

  it('that its reader breaks off is stopped by the SDK, also while somebody awaits the end', async () => {
    const result = await stream(() => times(1, 'search'));
    const { completed } = result;
    for await (const _ of result) break;
    await completed;
    const { length } = stage.world.started;
    await settled();
    expect(stage.world.started).toHaveLength(length);
    expect(stage.world.ended).toMatchObject([{ reason: null }]);
  });

  it('fails in whatever is awaited of it when a refusal aborts it', async () => {
    stage = new Stage({ onBlocked: 'abort' });
    const result = await stream(turns(times(4, 'search')));
    const { completed } = result;
    expect(await errorOf(read(result))).toMatchObject({ code: 'step-budget' });
    expect(await errorOf(completed)).toMatchObject({ code: 'step-budget' });
    expect(await errorOf(result.completed)).toMatchObject({ code: 'step-budget' });
  });

  it('ends without an error when the caller aborts, as it does in the SDK', async () => {
    const caller = new AbortController();
    const running = handle();
    const search = stage.tool('search', () => {
      running.open();
      return new Promise(() => {});
    });
    const agent = stage.agent(turns(times(1, 'search')), { tools: [search] });
    const result = await stage.run(agent, 'Go', { signal: caller.signal, stream: true });
    const pieces = read(result);
    let completed = false;
    result.completed.finally(() => {
      completed = true;
    });
    await running.passed;
    caller.abort(new Error('Enough'));
    expect((await pieces).length).toBeGreaterThan(0);
    expect(result.cancelled).toBe(true);
    expect(stage.world.ended).toMatchObject([{ reason: 'Enough' }]);
    // That one waits for the body, which does not stop.
    await settled();
    expect(completed).toBe(false);
  });
});

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Gate, type GateOptions, throwRefusal } from '../../src/adapters/index.ts';
import { createEnforcement, type PhasegateEvent, type Run, RunAbortedError } from '../../src/index.ts';
import { flush, gate as handle, outcomeOf, refusalOf, watch } from '../core/helpers.ts';

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(options: GateOptions = {}): Gate {
  const enforcement = createEnforcement();
  enforcement.on((event) => events.push(event));
  return new Gate(enforcement, options, {});
}

const ended = () => events.filter(({ type }) => type === 'run.ended');

describe('an invocation', () => {
  it('that returns is a run that ends with it', () => {
    const gate = gateOf();
    expect(gate.invoke((run) => run.state.finished)).toBe(false);
    expect(ended()).toMatchObject([{ phase: 'ANSWERING', reason: null }]);
  });

  it('that throws is a run that ends with it', () => {
    const gate = gateOf();
    const fault = new Error('no');
    expect(() =>
      gate.invoke(() => {
        throw fault;
      }),
    ).toThrow(fault);
    expect(ended()).toMatchObject([{ phase: 'ANSWERING', reason: null }]);
  });

  it.each([
    [
      'a response that was read already',
      async () => {
        const response = new Response('text');
        await response.text();
        return response;
      },
    ],
    [
      'an iterable that cannot be begun',
      () => ({
        [Symbol.asyncIterator]() {
          throw new TypeError('it was begun before');
        },
      }),
    ],
  ])('that returns %s is a run that ends with the error', async (_, agent) => {
    const gate = gateOf();
    expect(await outcomeOf(Promise.resolve().then(() => gate.invoke<unknown>(agent)))).toMatchObject({
      status: 'rejected',
      error: expect.any(TypeError),
    });
    expect(ended()).toHaveLength(1);
  });

  it('that promises is a run that ends when the promise is kept, or broken', async () => {
    const gate = gateOf();
    const kept = handle<string>();
    const broken = handle();
    const outcomes = [gate.invoke(() => kept.passed), gate.invoke(() => broken.passed)].map(watch);
    await flush();
    expect(ended()).toEqual([]);
    kept.open('answer');
    expect(await outcomes[0]?.()).toEqual({ status: 'fulfilled', value: 'answer' });
    expect(ended()).toHaveLength(1);
    broken.fail('no');
    expect(await outcomes[1]?.()).toEqual({ status: 'rejected', error: 'no' });
    expect(ended()).toHaveLength(2);
  });

  it('takes what the gate says of its runs, and what is said of this one ahead of it', () => {
    const gate = gateOf({ maxDepth: 1 });
    const nested = (options = {}) =>
      gate.invoke((run) => run.callTool('sub', {}, () => gate.invoke(() => 'in')), options);
    return Promise.all([
      expect(nested()).resolves.toBe('in'),
      expect(nested({ maxDepth: undefined })).resolves.toBe('in'),
      expect(nested({ maxDepth: 0 })).rejects.toMatchObject({ code: 'depth-exceeded' }),
    ]);
  });

  it('inside of a call is a child run', async () => {
    const gate = gateOf();
    const depth = await gate.invoke((run) =>
      run.callTool('sub', {}, () => gate.invoke((child) => child.depth)),
    );
    expect(depth).toBe(1);
  });

  it('gets the deadline at once, whatever the agent does', async () => {
    const gate = gateOf({ timeoutMs: 5 });
    await expect(gate.invoke(() => new Promise(() => {}))).rejects.toMatchObject({ code: 'run-timeout' });
  });

  it('gets what the run is aborted with: an error as it is, anything else in one', async () => {
    const gate = gateOf();
    const reason = new Error('Enough');
    const abortedWith = (given: unknown) =>
      outcomeOf(
        gate.invoke((run) => {
          run.abort(given);
          // As frameworks do that swallow what a tool throws.
          return Promise.resolve('answered all the same');
        }),
      );
    expect(await abortedWith(reason)).toEqual({ status: 'rejected', error: reason });
    const { error } = (await abortedWith('enough')) as { error: RunAbortedError };
    expect(error).toBeInstanceOf(RunAbortedError);
    expect(error).toMatchObject({ code: 'run-aborted', reason: 'enough', cause: 'enough' });
  });

  it('whose caller has aborted before is aborted from the start', async () => {
    const gate = gateOf();
    const reason = new Error('Never mind');
    const asked = gate.invoke(async (run: Run) => run.signal.aborted, { signal: AbortSignal.abort(reason) });
    expect(await outcomeOf(asked)).toEqual({ status: 'rejected', error: reason });
  });

  it('that callbacks tell of ends when it is finished', () => {
    const invocation = gateOf().begin({ id: 'session' });
    expect(invocation.run).toMatchObject({ id: 'session', state: { finished: false } });
    invocation.finish();
    invocation.finish();
    expect(ended()).toMatchObject([{ run: 'session', reason: null }]);
  });
});

describe('an iterable', () => {
  async function* pieces() {
    yield 1;
    yield 2;
  }

  it('is a run that ends with its last piece', async () => {
    const read: number[] = [];
    for await (const piece of gateOf().invoke(() => pieces())) {
      expect(ended()).toEqual([]);
      read.push(piece);
    }
    expect(read).toEqual([1, 2]);
    expect(ended()).toMatchObject([{ reason: null }]);
  });

  it('that was promised is one, too', async () => {
    for await (const _ of await gateOf().invoke(async () => pieces())) expect(ended()).toEqual([]);
    expect(ended()).toMatchObject([{ reason: null }]);
  });

  it('that is broken off is aborted, and cleans up', async () => {
    let cleaned = false;
    let signal: AbortSignal | undefined;
    const broken = gateOf().invoke(async function* (run) {
      signal = run.signal;
      try {
        yield 1;
        yield 2;
      } finally {
        cleaned = true;
      }
    });
    for await (const _ of broken) break;
    expect(cleaned).toBe(true);
    expect(signal?.reason).toMatchObject({ name: 'AbortError' });
    expect(ended()).toMatchObject([
      { reason: 'The run was aborted: its stream was broken off by its reader' },
    ]);
  });

  it('that is thrown into is aborted', async () => {
    const iterator = gateOf().invoke(() => pieces());
    await iterator.next();
    await expect(iterator.throw('no')).rejects.toBe('no');
    expect(ended()).toHaveLength(1);
  });

  it('that has only a next can be broken off and thrown into as well', async () => {
    const bare = (): AsyncIterable<number> => ({
      [Symbol.asyncIterator]: () => ({ next: async () => ({ done: false, value: 1 }) }),
    });
    for await (const _ of gateOf().invoke(bare)) break;
    const iterator = gateOf().invoke(bare)[Symbol.asyncIterator]();
    await expect(iterator.throw?.('no')).rejects.toBe('no');
    expect(ended()).toHaveLength(2);
  });

  it('that fails is a run that ends', async () => {
    const failing = gateOf().invoke(async function* () {
      yield 1;
      throw new Error('no');
    });
    expect(await outcomeOf(read(failing))).toMatchObject({ status: 'rejected', error: { message: 'no' } });
    expect(ended()).toMatchObject([{ reason: null }]);
  });

  it('whose run is aborted fails at once, also while it waits', async () => {
    const reason = new Error('Enough');
    let abort: ((reason: unknown) => void) | undefined;
    const waiting = gateOf().invoke(async function* (run): AsyncGenerator<number> {
      abort = (why) => run.abort(why);
      await new Promise(() => {});
    });
    const outcome = watch(read(waiting));
    await flush();
    abort?.(reason);
    expect(await outcome()).toEqual({ status: 'rejected', error: reason });
    await expect(waiting.next()).rejects.toBe(reason);
  });
});

describe('a stream of the platform', () => {
  const streamOf = (...pieces: unknown[]) =>
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });

  it('is a run that ends with its last piece', async () => {
    const stream = gateOf().invoke(() => streamOf(1, 2));
    expect(stream).toBeInstanceOf(ReadableStream);
    expect(await read(stream)).toEqual([1, 2]);
    expect(ended()).toMatchObject([{ reason: null }]);
  });

  it('is asked for no piece that its reader does not ask for', async () => {
    const pull = vi.fn((controller: ReadableStreamDefaultController) => controller.enqueue(1));
    const stream = gateOf().invoke(() => new ReadableStream({ pull }, { highWaterMark: 0 }));
    await flush();
    expect(pull).not.toHaveBeenCalled();
    await stream.getReader().read();
    expect(pull).toHaveBeenCalledTimes(1);
  });

  it('that is cancelled cancels what it is made of, and aborts', async () => {
    const cancel = vi.fn(() => new Promise<void>(() => {}));
    const stream = gateOf().invoke(() => new ReadableStream({ cancel }));
    await stream.cancel('enough');
    expect(cancel).toHaveBeenCalledWith('enough');
    expect(ended()).toHaveLength(1);
  });

  it('that fails is a run that ends', async () => {
    const failing = new ReadableStream({ pull: () => Promise.reject(new Error('no')) });
    expect(await outcomeOf(read(gateOf().invoke(() => failing)))).toMatchObject({ error: { message: 'no' } });
    expect(ended()).toHaveLength(1);
  });

  it('whose run is aborted cancels what it is made of', async () => {
    const cancel = vi.fn();
    const reason = new Error('Enough');
    let run: Run | undefined;
    const stream = gateOf().invoke((own) => {
      run = own;
      return new ReadableStream({ cancel });
    });
    const outcome = watch(read(stream));
    run?.abort(reason);
    expect(await outcome()).toEqual({ status: 'rejected', error: reason });
    expect(cancel).toHaveBeenCalledWith(reason);
  });

  it('in a response ends its run with the body; a response without one has ended it', async () => {
    const gate = gateOf();
    const response = gate.invoke(() => new Response('text', { status: 201, headers: { a: 'b' } }));
    expect(ended()).toEqual([]);
    expect([response.status, response.headers.get('a'), await response.text()]).toEqual([201, 'b', 'text']);
    expect(ended()).toHaveLength(1);
    gate.invoke(() => new Response(null, { status: 204 }));
    expect(ended()).toHaveLength(2);
  });

  it('that the caller aborts gives the reason, unless the framework ends it in its own way', async () => {
    for (const endsAbortedStreams of [false, true]) {
      const gate = new Gate(createEnforcement(), {}, { endsAbortedStreams });
      const caller = new AbortController();
      const own = new ReadableStream({
        start(controller) {
          caller.signal.addEventListener('abort', () => controller.close());
        },
      });
      const outcome = watch(read(gate.invoke(() => own, { signal: caller.signal })));
      caller.abort('gone');
      const expected = endsAbortedStreams
        ? { status: 'fulfilled', value: [] }
        : { status: 'rejected', error: { code: 'run-aborted', cause: 'gone' } };
      expect(await outcome()).toMatchObject(expected);
    }
  });
});

describe('what nobody reads', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  const endless = (run: Run) =>
    new ReadableStream(
      {
        async pull(controller) {
          controller.enqueue(
            await run.callTool('slow', {}, () => new Promise((resolve) => setTimeout(resolve, 500))),
          );
        },
      },
      { highWaterMark: 0 },
    );

  it('is aborted after a while', async () => {
    gateOf({ unreadMs: 100 }).invoke(endless);
    await vi.advanceTimersByTimeAsync(99);
    expect(ended()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended()).toMatchObject([{ reason: 'The run was aborted: its stream was not read for 100 ms' }]);
  });

  it('is aborted after a while since its last reading, and a reader that waits is reading', async () => {
    const reader = gateOf({ unreadMs: 100 }).invoke(endless).getReader();
    await vi.advanceTimersByTimeAsync(60);
    const piece = reader.read();
    await vi.advanceTimersByTimeAsync(500);
    await piece;
    expect(ended()).toEqual([]);
    await vi.advanceTimersByTimeAsync(99);
    expect(ended()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended()).toHaveLength(1);
    await expect(reader.read()).rejects.toThrow('not read for 100 ms');
  });

  it('is left alone where there is no limit, and when its run has ended', async () => {
    gateOf({ unreadMs: Number.POSITIVE_INFINITY }).invoke(endless);
    let run: Run | undefined;
    gateOf({ unreadMs: 100 }).invoke((own) => {
      run = own;
      return endless(own);
    });
    run?.finish();
    await vi.advanceTimersByTimeAsync(10_000_000);
    expect(ended()).toMatchObject([{ reason: null }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('has five minutes by default', async () => {
    gateOf().invoke(endless);
    await vi.advanceTimersByTimeAsync(299_999);
    expect(ended()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(ended()).toHaveLength(1);
  });
});

it('a refusal in a stream is what its reader gets', async () => {
  const enforcement = createEnforcement({ config: { agentProfile: { resourceBudget: { maxSteps: 0 } } } });
  const gate = new Gate(enforcement, { onBlocked: 'abort' }, {});
  const stream = gate.invoke(async function* () {
    yield await gate.call({ tool: 'search', args: {} }, () => 1, throwRefusal).catch(() => 'swallowed');
  });
  expect(await refusalOf(read(stream))).toMatchObject({ code: 'step-budget' });
});

async function read(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const pieces: unknown[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

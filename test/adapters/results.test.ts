import { EventEmitter } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { Gate } from '../../src/adapters/index.ts';
import { createEnforcement, type PhasegateEvent, type Run } from '../../src/index.ts';
import { flush, gate as handle, outcomeOf } from '../core/helpers.ts';

let events: PhasegateEvent[];
let run: Run;

/** A result as frameworks return it: many streams and promises of one thing, in a class with private members. */
class Result {
  readonly #pieces = ['a', 'b'];
  readonly done = handle<string>();
  readonly frozen!: string;
  readonly plain = { kept: true };

  get stream() {
    const pieces = this.#pieces;
    return new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece);
        controller.close();
      },
    });
  }

  get text(): Promise<string> {
    return this.done.passed;
  }

  async *iterate() {
    yield* this.#pieces;
  }

  toResponse(): Response {
    return new Response(this.#pieces.join(''));
  }

  count(): number {
    return this.#pieces.length;
  }

  pipe(_sink: Sink): Promise<string> {
    return this.done.passed;
  }

  pipeSilently(_sink: Sink): void {}
}

class Sink extends EventEmitter {
  writableFinished = false;
  destroyed = false;
}

beforeEach(() => {
  events = [];
});

function resultOf(result = new Result()): Result {
  const enforcement = createEnforcement();
  enforcement.on((event) => events.push(event));
  return new Gate(enforcement, {}, { hasStreams: (value) => value instanceof Result }).invoke((own) => {
    run = own;
    return result;
  });
}

const ended = () => events.filter(({ type }) => type === 'run.ended');

describe('a result with streams in it', () => {
  it('is for the rest as it was, of its own class and with its private members', () => {
    const own = new Result();
    const result = resultOf(own);
    expect(result).toBeInstanceOf(Result);
    expect(result.count()).toBe(2);
    expect(result.plain).toBe(own.plain);
    expect(result.count).toBe(result.count);
    expect(ended()).toEqual([]);
  });

  it('gives what cannot be replaced as it is', () => {
    const own = new Result();
    const stream = own.stream;
    Object.defineProperty(own, 'frozen', { value: stream, configurable: false, writable: false });
    expect(resultOf(own).frozen).toBe(stream);
  });

  it.each([
    [
      'a stream',
      async (result: Result) => {
        for await (const _ of result.stream);
      },
    ],
    [
      'an iterable',
      async (result: Result) => {
        for await (const _ of result.iterate());
      },
    ],
    ['a response', (result: Result) => result.toResponse().text()],
    [
      'a promise',
      (result: Result) => {
        result.done.open('ab');
        return result.text;
      },
    ],
  ])('ends its run when %s of it has been read', async (_, readIt) => {
    await readIt(resultOf());
    await flush();
    expect(ended()).toMatchObject([{ reason: null }]);
  });

  it('is aborted when its last reader breaks off', async () => {
    const result = resultOf();
    const [one, other] = [result.stream.getReader(), result.iterate()];
    await one.cancel();
    await one.cancel();
    expect(ended()).toEqual([]);
    await other.return();
    expect(ended()).toMatchObject([{ reason: expect.stringContaining('broken off') }]);
  });

  it('fails in all that is taken of it when its run is aborted, and what is not awaited fails unheard', async () => {
    const result = resultOf();
    const before = result.text;
    const reason = new Error('Enough');
    run.abort(reason);
    expect(await outcomeOf(before)).toEqual({ status: 'rejected', error: reason });
    expect(await outcomeOf(result.text)).toEqual({ status: 'rejected', error: reason });
    void result.text;
    await flush();
  });
});

describe('a result that is written into a response', () => {
  it.each([
    ['ends its run when the response ends', { writableFinished: true }, null],
    [
      'aborts its run when the client goes',
      { writableFinished: false },
      expect.stringContaining('broken off'),
    ],
  ])('%s', async (_, state, reason) => {
    const sink = new Sink();
    resultOf().pipeSilently(sink);
    await flush();
    expect(ended()).toEqual([]);
    Object.assign(sink, state).emit('close');
    await flush();
    expect(ended()).toMatchObject([{ reason }]);
  });

  it('aborts its run when the client has gone before', async () => {
    const sink = Object.assign(new Sink(), { destroyed: true });
    resultOf().pipeSilently(sink);
    await flush();
    expect(ended()).toMatchObject([{ reason: expect.stringContaining('broken off') }]);
  });

  it('is not over when the promise of the writing is kept', async () => {
    const result = resultOf();
    const written = result.pipe(new Sink());
    result.done.open('written');
    expect(await written).toBe('written');
    await flush();
    expect(ended()).toEqual([]);
  });

  it('fails when its run is aborted', async () => {
    const written = resultOf().pipe(new Sink());
    const reason = new Error('Enough');
    run.abort(reason);
    expect(await outcomeOf(written)).toEqual({ status: 'rejected', error: reason });
    await flush();
    expect(ended()).toHaveLength(1);
  });
});

import type { Invocation } from './invocation.ts';

/** Whether a value is a stream of the platform. */
export function isReadable(value: unknown): value is ReadableStream<unknown> {
  return typeof (value as ReadableStream | null)?.getReader === 'function';
}

export function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] === 'function';
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null)?.then === 'function';
}

/** A stream that gives what another gives, and by which an invocation sees how far it is read. */
export function readableOf<T>(invocation: Invocation, source: ReadableStream<T>): ReadableStream<T> {
  const reader = invocation.openReader();
  const inner = source.getReader();
  return new ReadableStream<T>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read(() => inner.read());
          if (!done) return controller.enqueue(value);
          reader.ended();
          controller.close();
        } catch (error) {
          reader.ended();
          controller.error(error);
          inner.cancel(error).catch(ignore);
        }
      },
      cancel(reason) {
        reader.left();
        // Not awaited: of a stream that was split, one part waits for the other to be cancelled as well.
        invocation.run.inside(() => inner.cancel(reason)).catch(ignore);
      },
    },
    // What was not asked for is not read.
    { highWaterMark: 0 },
  );
}

/** The same for an iterator: each step that is taken is a step of the other. */
export function iteratorOf<T>(invocation: Invocation, source: AsyncIterable<T>): AsyncIterableIterator<T> {
  const { run } = invocation;
  const reader = invocation.openReader();
  const inner = run.inside(() => source[Symbol.asyncIterator]());
  const step = async (next: () => Promise<IteratorResult<T>>): Promise<IteratorResult<T>> => {
    try {
      const result = await reader.read(next);
      if (result.done) reader.ended();
      return result;
    } catch (error) {
      reader.ended();
      // A generator ends only when it is asked to, and may be busy with a body that does not stop.
      Promise.resolve(run.inside(() => inner.return?.())).catch(ignore);
      throw error;
    }
  };
  return {
    next: () => step(() => inner.next()),
    return: async (value) => {
      reader.left();
      return (await run.inside(() => inner.return?.(value))) ?? { done: true, value };
    },
    throw: async (error) => {
      reader.left();
      if (inner.throw === undefined) throw error;
      return await run.inside(() => inner.throw?.(error) as Promise<IteratorResult<T>>);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * A result with streams in it, such as frameworks return: whatever of it can be read or awaited is watched, and all else is
 * as it was. That a promise of it is settled must mean that the agent is done.
 */
export function resultOf<T extends object>(invocation: Invocation, result: T): T {
  const { run } = invocation;
  invocation.watch();
  const methods = new Map<unknown, unknown>();
  return new Proxy(result, {
    get(target, key) {
      const own = Reflect.getOwnPropertyDescriptor(target, key);
      // Of the result itself: its getters and methods may need it to have private members.
      const value: unknown = run.inside(() => Reflect.get(target, key, target));
      // The language demands that what cannot change does not.
      if (own !== undefined && !own.configurable && own.writable === false) return value;
      if (typeof value !== 'function') return watched(invocation, value);
      let method = methods.get(value);
      if (method === undefined) {
        method = (...args: unknown[]) => {
          const returned: unknown = run.inside(() => value.apply(target, args));
          const sinks = args.filter(isSink);
          if (sinks.length === 0) return watched(invocation, returned);
          for (const sink of sinks) watchSink(invocation, sink);
          // A promise of the piping tells nothing of how it went: it is kept when the client has gone, too.
          return isThenable(returned) ? quietly(invocation.settle(returned)) : returned;
        };
        methods.set(value, method);
      }
      return method;
    },
  });
}

function watched(invocation: Invocation, value: unknown): unknown {
  if (isReadable(value)) return readableOf(invocation, value);
  if (isNodeReadable(value)) return nodeReadableOf(invocation, value);
  if (isThenable(value)) return promiseOf(invocation, value);
  if (isAsyncIterable(value)) return iteratorOf(invocation, value);
  return isResponse(value) ? responseOf(invocation, value) : value;
}

/** A stream of Node, which is iterated, and whose class makes such of what is iterated. */
interface NodeReadable extends AsyncIterable<unknown> {
  readonly readableObjectMode: boolean;
  readonly constructor: { from(source: AsyncIterable<unknown>, options: object): unknown };
}

function isNodeReadable(value: unknown): value is NodeReadable {
  const stream = value as Partial<NodeReadable> | null;
  return typeof stream?.readableObjectMode === 'boolean' && typeof stream.constructor?.from === 'function';
}

function nodeReadableOf(invocation: Invocation, stream: NodeReadable): unknown {
  const { readableObjectMode: objectMode } = stream;
  return stream.constructor.from(iteratorOf(invocation, stream), { objectMode });
}

/** A response that has a body, which is watched. */
export function responseOf(invocation: Invocation, response: Response & { readonly body: object }): Response {
  return new Response(readableOf(invocation, response.body), response);
}

export function isResponse(value: unknown): value is Response & { readonly body: object } {
  return typeof Response === 'function' && value instanceof Response && value.body !== null;
}

function promiseOf<T>(invocation: Invocation, promise: PromiseLike<T>): Promise<T> {
  const reader = invocation.openReader();
  return quietly(reader.read(() => promise).finally(() => reader.ended()));
}

/** Results make many promises, of which callers await few: those that are not may fail unheard. */
function quietly<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}

/** A response of Node, into which a method writes: it is closed at its end, and when the client goes. */
interface Sink {
  readonly writableFinished: boolean;
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

function isSink(value: unknown): value is Sink {
  const sink = value as Partial<Sink> | null;
  return typeof sink?.once === 'function' && typeof sink.writableFinished === 'boolean';
}

function watchSink(invocation: Invocation, sink: Sink): void {
  const reader = invocation.openReader();
  const closed = new Promise<void>((resolve) => {
    if (sink.destroyed) resolve();
    else sink.once('close', resolve);
  });
  reader
    .read(() => closed)
    .then(() => (sink.writableFinished ? reader.ended() : reader.left()))
    .catch(() => reader.ended());
}

function ignore(): void {}

import { Buffer } from 'node:buffer';

/** A stream whose first bytes were looked at. */
interface Begun {
  /** The first bytes: as many as were asked for or more, or all of a shorter stream. */
  readonly head: Uint8Array;
  /** The whole stream, from its first byte. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Looks at the first bytes of a stream, which are read again with the rest of it. */
export async function lookAhead(bytes: AsyncIterable<Uint8Array>, least: number): Promise<Begun> {
  const rest = bytes[Symbol.asyncIterator]();
  const seen: Uint8Array[] = [];
  for (let size = 0; size < least; ) {
    const next = await rest.next();
    if (next.done) break;
    seen.push(next.value);
    size += next.value.length;
  }
  const head = seen.length === 1 ? (seen[0] as Uint8Array) : new Uint8Array(Buffer.concat(seen));
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      const first = seen.shift();
      return first === undefined ? rest.next() : { done: false, value: first };
    },
    // Written out, as a generator that was never asked for a value would not close the stream.
    async return() {
      seen.length = 0;
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return { head, bytes: { [Symbol.asyncIterator]: () => iterator } };
}

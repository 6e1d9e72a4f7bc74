// A string of twice as much is a large object to V8, which takes longer to make than to decode.
const PIECE = 64 * 1024;

/**
 * Decodes a stream of bytes: UTF-8, or UTF-16 where a byte order mark says so. Bytes that are no text become U+FFFD, so
 * that a broken character in a result does not lose the call.
 */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let head: Uint8Array = new Uint8Array(0);
  for await (const chunk of bytes) {
    let rest = chunk;
    if (decoder === undefined) {
      rest = head.length === 0 ? chunk : concat(head, chunk);
      if (rest.length < 2) {
        head = rest;
        continue;
      }
      decoder = new TextDecoder(encodingOf(rest));
    }
    for (let at = 0; at < rest.length; at += PIECE) {
      const text = decoder.decode(rest.subarray(at, at + PIECE), { stream: true });
      if (text !== '') yield text;
    }
  }
  const last = decoder === undefined ? new TextDecoder().decode(head) : decoder.decode();
  if (last !== '') yield last;
}

function encodingOf(head: Uint8Array): string {
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le';
  if (head[0] === 0xfe && head[1] === 0xff) return 'utf-16be';
  return 'utf-8';
}

function concat(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

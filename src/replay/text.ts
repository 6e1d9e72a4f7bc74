import { Buffer, isAscii } from 'node:buffer';

// A string of twice as much is a large object to V8, which takes longer to make than to decode.
const PIECE = 64 * 1024;

/**
 * Decodes a stream of bytes: UTF-8, or UTF-16 where a byte order mark says so. Bytes that are no text become U+FFFD, so
 * that a broken character in a result does not lose the call.
 */
export async function* decodeText(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: TextDecoder | undefined;
  let head: Uint8Array = new Uint8Array(0);
  // Whether the decoder may hold the beginning of a character.
  let pending = false;
  let begun = false;
  for await (const chunk of bytes) {
    let rest = chunk;
    if (decoder === undefined) {
      rest = head.length === 0 ? chunk : concat(head, chunk);
      if (rest.length < 2) {
        head = rest;
        continue;
      }
      // The mark is taken off here: Node 24 also takes off one behind a character that it was given in two pieces.
      decoder = new TextDecoder(encodingOf(rest), { ignoreBOM: true });
    }
    for (let at = 0; at < rest.length; at += PIECE) {
      const piece = rest.subarray(at, at + PIECE);
      const plain = decoder.encoding === 'utf-8' && isAscii(piece);
      const text = plain && !pending ? asciiText(piece) : decoder.decode(piece, { stream: true });
      pending = !plain;
      if (text === '') continue;
      const marked = !begun && text.startsWith('\ufeff');
      begun = true;
      if (!marked) yield text;
      else if (text.length > 1) yield text.slice(1);
    }
  }
  const last = decoder === undefined ? new TextDecoder().decode(head) : decoder.decode();
  if (last !== '') yield last;
}

// Most pieces hold nothing else, and the decoder of Node 20 takes ten times as long for them.
function asciiText({ buffer, byteOffset, length }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1');
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

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText } from '../../src/replay/text.ts';

async function decoded(bytes: Uint8Array, cuts: readonly number[]): Promise<string> {
  async function* pieces() {
    let start = 0;
    for (const cut of [...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
      yield bytes.subarray(start, cut);
      start = cut;
    }
  }
  let text = '';
  for await (const piece of decodeText(pieces())) text += piece;
  return text;
}

// Characters of one to four bytes, byte order marks anywhere, and bytes that are no character.
const bytes = fc
  .array(
    fc.constantFrom('a', 'bc', 'ü', '検', '🙂', '\ufeff', new Uint8Array([0xc3]), new Uint8Array([0xff])),
    {
      maxLength: 20,
    },
  )
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))));

describe('the text of bytes', () => {
  it('is the same wherever they are cut, and what a decoder makes of the whole', async () => {
    await fc.assert(
      fc.asyncProperty(bytes, fc.array(fc.nat()), async (all, cuts) => {
        expect(await decoded(all, cuts)).toBe(new TextDecoder().decode(all));
      }),
      { numRuns: 500 },
    );
  });

  it('keeps a byte order mark behind a character that was cut', async () => {
    expect(await decoded(Buffer.from('🙂\ufeff'), [2])).toBe('🙂\ufeff');
  });

  it('comes in pieces that are not large, however large those of the bytes are', async () => {
    async function* one() {
      yield Buffer.from('ü'.repeat(500_000));
    }
    let text = '';
    for await (const piece of decodeText(one())) {
      expect(piece.length).toBeLessThan(100_000);
      text += piece;
    }
    expect(text).toBe('ü'.repeat(500_000));
  });
});

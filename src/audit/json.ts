/** A value as JSON, or why it is left out. */
export type Json = { readonly json: string } | { readonly leftOut: string };

/**
 * Writes any value as JSON: errors by their name, message and code, a bigint as a text. It never throws, and stops as soon as
 * there is more than that many bytes.
 */
export function toJson(value: unknown, maxBytes: number): Json {
  let left = maxBytes;
  // Each value takes a byte at least, so that this ends on a value without an end, too.
  const spend = (bytes: number) => {
    left -= bytes;
    if (left < 0) throw TOO_LONG;
  };
  const depths = new Map<unknown, number>();
  function replace(this: unknown, key: string, member: unknown): unknown {
    spend(key.length + 1);
    if (typeof member === 'string') spend(member.length);
    if (typeof member === 'bigint') return member.toString();
    if (typeof member !== 'object' || member === null) return member;
    const plain = member instanceof Error ? errorAsJson(member) : member;
    const depth = (depths.get(this) ?? 0) + 1;
    if (depth > MAX_DEPTH) throw TOO_DEEP;
    depths.set(plain, depth);
    return plain;
  }
  try {
    const json = JSON.stringify(value, replace) as string | undefined;
    if (json === undefined) return { leftOut: `no JSON: ${typeof value}` };
    return Buffer.byteLength(json) > maxBytes ? tooLong(maxBytes) : { json };
  } catch (error) {
    if (error === TOO_LONG) return tooLong(maxBytes);
    if (error === TOO_DEEP) return { leftOut: `deeper than ${MAX_DEPTH} levels` };
    // What it says may quote the value.
    return { leftOut: 'no JSON: it holds itself, or throws when it is read' };
  }
}

// Whatever reads a log may go down into a value by recursion.
const MAX_DEPTH = 100;
const TOO_LONG = Symbol('too long');
const TOO_DEEP = Symbol('too deep');

function errorAsJson(error: Error): object {
  const { name, message, code } = error as Error & { code?: unknown };
  return { name, message, code };
}

function tooLong(maxBytes: number): Json {
  return { leftOut: `longer than ${maxBytes} bytes` };
}

import { Buffer } from 'node:buffer';
import { crc32, deflateRawSync } from 'node:zlib';

/** A file of a zip, and what its index says of it. */
export interface ZipEntry {
  readonly name: string;
  readonly text: string;
  /** @default what is true */
  readonly size?: number;
  readonly method?: 0 | 8 | 93 | 99;
  readonly flags?: number;
  /** Whether it is said to lie where the file before it does. */
  readonly again?: boolean;
}

/** The bytes of a zip of these files. */
export function zipOf(...entries: readonly ZipEntry[]): Uint8Array {
  const files: Buffer[] = [];
  const index: Buffer[] = [];
  let at = 0;
  let place = 0;
  for (const {
    name,
    text,
    size = Buffer.byteLength(text),
    method = 8,
    flags = 0,
    again = false,
  } of entries) {
    const packed = method === 8 ? deflateRawSync(text) : Buffer.from(text);
    const head = header(0x04034b50, 30, flags, method, text, packed, size, name);
    if (!again) place = at;
    const listed = Buffer.alloc(46);
    listed.writeUInt32LE(0x02014b50, 0);
    listed.writeUInt16LE(20, 4);
    head.copy(listed, 6, 4, 30);
    listed.writeUInt32LE(place, 42);
    files.push(head, Buffer.from(name), packed);
    index.push(listed, Buffer.from(name));
    at += head.length + name.length + packed.length;
  }
  const length = index.reduce((sum, part) => sum + part.length, 0);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, ...index, end]);
}

function header(
  signature: number,
  length: number,
  flags: number,
  method: number,
  text: string,
  packed: Buffer,
  size: number,
  name: string,
): Buffer {
  const head = Buffer.alloc(length);
  head.writeUInt32LE(signature, 0);
  head.writeUInt16LE(20, 4);
  head.writeUInt16LE(flags, 6);
  head.writeUInt16LE(method, 8);
  head.writeUInt32LE(crc32(text), 14);
  head.writeUInt32LE(packed.length, 18);
  head.writeUInt32LE(size, 22);
  head.writeUInt16LE(name.length, 26);
  return head;
}

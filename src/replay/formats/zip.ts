import { Buffer } from 'node:buffer';
import { inflateRawSync } from 'node:zlib';
import type { Entry, ZipFile } from 'yauzl';
import { PhasegateError } from '../../errors.ts';

/** How much of a zip is held at most. */
export interface ZipLimits {
  /** Bytes of the zip, all of which is held, as its index is at its end. */
  readonly zip: number;
  /** Bytes of a file in it when it is unpacked. One file is held at a time. */
  readonly file: number;
  /** How many files there may be. */
  readonly files: number;
}

const LIMITS: ZipLimits = { zip: 2 ** 30, file: 2 ** 28, files: 2 ** 20 };

/** A file of a zip: its text, or what is wrong with it. */
export type ZippedFile =
  | { readonly name: string; readonly text: string; readonly fault?: undefined }
  | { readonly name: string; readonly text?: undefined; readonly fault: string };

/** Whether a file that begins like this is a zip. */
export function isZip(head: Uint8Array): boolean {
  return head[0] === 0x50 && head[1] === 0x4b && head[2] === 0x03 && head[3] === 0x04;
}

/**
 * The files of a zip whose names match, in the order of its index. Of two with the same name the last one counts.
 *
 * @throws {PhasegateError} `file-unreadable` for what is no zip, or one that is too large or made to be.
 */
export async function* readZip(
  bytes: AsyncIterable<Uint8Array>,
  names: RegExp,
  limits: ZipLimits = LIMITS,
): AsyncGenerator<ZippedFile> {
  const zip = await collect(bytes, limits.zip);
  // Loaded when a zip is read, so that no one else pays for it.
  const { default: yauzl } = await import('yauzl');
  const index = await yauzl.fromBufferPromise(zip, { lazyEntries: true }).catch((error: unknown) => {
    throw unreadable(`the zip cannot be read: ${(error as Error).message}`);
  });
  const { entries, fault } = await entriesIn(index, names, limits.files);
  for (const entry of entries) {
    const name = entry.fileName;
    try {
      const { fileDataStart } = await index.readLocalFileHeaderPromise(entry, { minimal: true });
      const packed = zip.subarray(fileDataStart, fileDataStart + entry.compressedSize);
      yield { name, text: new TextDecoder().decode(await unpack(packed, entry, limits.file)) };
    } catch (error) {
      yield { name, fault: `it cannot be unpacked: ${(error as Error).message}` };
    }
  }
  if (fault !== undefined) yield { name: 'the index of the zip', fault };
}

async function collect(bytes: AsyncIterable<Uint8Array>, limit: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > limit) throw unreadable(`the zip is larger than ${limit} bytes, the most that is read`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

interface Index {
  readonly entries: readonly Entry[];
  /** Why there may be more. */
  readonly fault: string | undefined;
}

async function entriesIn(index: ZipFile, names: RegExp, limit: number): Promise<Index> {
  const entries = new Map<string, Entry>();
  let fault: string | undefined;
  try {
    for await (const entry of index.eachEntry()) {
      if (names.test(entry.fileName)) entries.set(entry.fileName, entry);
      if (entries.size > limit) break;
    }
  } catch (error) {
    fault = (error as Error).message;
  }
  if (entries.size > limit)
    throw unreadable(`the zip holds more than ${limit} files, the most that are read`);
  // A small zip holds a huge one where many files are made of the same bytes.
  let end = 0;
  for (const entry of [...entries.values()].toSorted(byPlace)) {
    if (entry.relativeOffsetOfLocalHeader < end) throw unreadable('files of the zip lie in each other');
    end = entry.relativeOffsetOfLocalHeader + entry.compressedSize;
  }
  return { entries: [...entries.values()], fault };
}

function byPlace(a: Entry, b: Entry): number {
  return a.relativeOffsetOfLocalHeader - b.relativeOffsetOfLocalHeader;
}

// Unpacks a file, never to more than the index says and the limit allows.
async function unpack(packed: Uint8Array, entry: Entry, limit: number): Promise<Uint8Array> {
  const { uncompressedSize: size, compressionMethod: method } = entry;
  if (entry.isEncrypted()) throw new Error('it is encrypted');
  if (Math.max(size, packed.length) > limit) {
    throw new Error(`it has ${size} bytes, and ${limit} are the most that are read`);
  }
  const data = await unpacked(packed, size, method);
  if (data.length !== size)
    throw new Error(`it has ${data.length} bytes, and the index of the zip says ${size}`);
  return data;
}

async function unpacked(packed: Uint8Array, size: number, method: number): Promise<Uint8Array> {
  switch (method) {
    case STORED:
      return packed;
    case DEFLATED:
      return inflateRawSync(packed, { maxOutputLength: Math.max(size, 1) });
    case ZSTANDARD:
      return unpackZstandard(packed, size);
    default:
      throw new Error(`it is packed by method ${method}, which is not known here`);
  }
}

// Node itself has it from version 22.15 on only.
async function unpackZstandard(packed: Uint8Array, size: number): Promise<Uint8Array> {
  const { ZSTDDecoder } = await import('zstddec');
  const decoder = new ZSTDDecoder();
  await decoder.init();
  // A size of 0 would mean that the packed data say it. What does not unpack to this size or less gives nothing.
  return size === 0 ? new Uint8Array(0) : decoder.decode(packed, size);
}

const STORED = 0;
const DEFLATED = 8;
const ZSTANDARD = 93;

function unreadable(message: string): PhasegateError {
  return new PhasegateError('file-unreadable', message);
}

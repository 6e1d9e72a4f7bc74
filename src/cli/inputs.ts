import { open, stat } from 'node:fs/promises';
import { glob, isDynamicPattern } from 'tinyglobby';
import type { FileFault, TraceStream } from '../replay/index.ts';
import { openPipe } from '../replay/open-file.ts';
import type { Io } from './io.ts';

/** What a command is to read. */
export interface Inputs {
  readonly files: readonly (string | TraceStream)[];
  /** How many bytes that is; `undefined` where it cannot be known. */
  readonly bytes: number | undefined;
  /** Names that stand for nothing. */
  readonly faults: readonly FileFault[];
}

/**
 * Finds the files that the arguments name: paths, named pipes, globs, and `-` for standard input. Each file is taken once, in the order
 * in which it is first named; but the files of an audit log that was written to several, in the order in which they were.
 */
export async function findInputs(names: readonly string[], io: Io): Promise<Inputs> {
  const files = new Map<string, string | TraceStream>();
  const faults: FileFault[] = [];
  let bytes: number | undefined = 0;
  for (const name of names) {
    if (name === '-') {
      files.set(name, { name: 'stdin', bytes: io.stdin });
      bytes = undefined;
      continue;
    }
    const found = await filesNamed(name);
    if (found.length === 0) faults.push({ file: name, line: null, message: 'no file is named like that' });
    for (const file of found) {
      if (files.has(file)) continue;
      const { isPipe, size } = await lookAt(file);
      // What is read of a pipe once is gone: nothing may look into it beforehand.
      files.set(file, isPipe ? openPipe(file, io.signal) : file);
      bytes = bytes === undefined || isPipe ? undefined : bytes + size;
    }
  }
  return { files: await inOrderOfParts([...files.values()]), bytes, faults };
}

async function inOrderOfParts(
  files: readonly (string | TraceStream)[],
): Promise<readonly (string | TraceStream)[]> {
  if (files.length < 2) return files;
  const logs = new Map<unknown, { readonly file: string | TraceStream; readonly part: number }[]>();
  for (const file of files) {
    const { log, part } = (typeof file === 'string' ? await headerOf(file) : undefined) ?? {
      log: file,
      part: 1,
    };
    logs.set(log, [...(logs.get(log) ?? []), { file, part }]);
  }
  return [...logs.values()].flatMap((parts) => parts.sort((a, b) => a.part - b.part).map(({ file }) => file));
}

// Longer than the first line of an audit log.
const HEADER_BYTES = 1024;

/** Which part of which audit log a file is; `undefined` for one that is none, or cannot be read, which is told when it is. */
async function headerOf(path: string): Promise<{ readonly log: string; readonly part: number } | undefined> {
  try {
    const handle = await open(path);
    try {
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(HEADER_BYTES) });
      const line = buffer.toString('utf8', 0, bytesRead).split('\n', 1)[0] ?? '';
      if (!line.includes('"log.opened"')) return undefined;
      const { log, part } = JSON.parse(line) as { log: unknown; part: unknown };
      return typeof log === 'string' && typeof part === 'number' ? { log, part } : undefined;
    } finally {
      await handle.close();
    }
  } catch {
    return undefined;
  }
}

// A file whose name looks like a pattern is meant itself.
async function filesNamed(name: string): Promise<readonly string[]> {
  const isPattern = isDynamicPattern(name) && !(await exists(name));
  if (!isPattern) return [name];
  const pattern = process.platform === 'win32' ? name.replaceAll('\\', '/') : name;
  const found = await glob(pattern, { expandDirectories: false });
  return found.sort(new Intl.Collator('en', { numeric: true }).compare);
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

// A file that cannot be read is told of when it is read.
async function lookAt(path: string): Promise<{ readonly isPipe: boolean; readonly size: number }> {
  return stat(path).then(
    (stats) => ({ isPipe: stats.isFIFO(), size: stats.size }),
    () => ({ isPipe: false, size: 0 }),
  );
}

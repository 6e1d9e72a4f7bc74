import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Environment, Output } from '../../src/cli/io.ts';
import { main } from '../../src/cli/main.ts';

/** What a command printed, and how it ended. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** How a command is run. */
export interface RunOptions {
  readonly env?: Environment;
  readonly stdin?: string | AsyncIterable<Uint8Array>;
  readonly tty?: boolean;
  readonly columns?: number;
  readonly signal?: AbortSignal;
  /** What writing to standard output throws. */
  readonly failing?: Error;
}

/** Runs the command line in this process. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const {
    env = {},
    stdin = '',
    tty = false,
    columns,
    signal = new AbortController().signal,
    failing,
  } = options;
  const written = { out: '', err: '' };
  const output = (name: 'out' | 'err'): Output => ({
    isTTY: tty,
    columns,
    write(text) {
      if (failing !== undefined && name === 'out') throw failing;
      written[name] += text;
      return true;
    },
    once: () => undefined,
  });
  async function* input() {
    if (typeof stdin === 'string') yield Buffer.from(stdin);
    else yield* stdin;
  }
  const code = await main(args, {
    stdin: input(),
    stdout: output('out'),
    stderr: output('err'),
    env,
    signal,
  });
  return { code, ...written };
}

/** Standard input that the user interrupts when that much was read of it. */
export function interruptedAfter(content: string): Pick<RunOptions, 'stdin' | 'signal'> {
  const interrupt = new AbortController();
  async function* bytes() {
    yield Buffer.from(content);
    interrupt.abort();
    throw new Error('Premature close');
  }
  return { stdin: bytes(), signal: interrupt.signal };
}

/** A folder for one test, with these files. */
export function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-cli-'));
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  const before = process.cwd();
  process.chdir(folder);
  onTestFinished(() => process.chdir(before));
  return folder;
}

/** A recording of one run: `a` and `b` are calls of these tools that ended well, `!a` one that failed. */
export function recording(run: string, calls: string): string {
  const records = calls.split(' ').flatMap((call, i) => {
    const tool = call.replace('!', '');
    return [
      { type: 'call.started', run, call: `${tool}-${i}`, tool },
      { type: 'call.ended', run, call: `${tool}-${i}`, ok: !call.startsWith('!') },
    ];
  });
  const all = [{ type: 'run.started', run }, ...(calls === '' ? [] : records), { type: 'run.ended', run }];
  return all.map((record) => `${JSON.stringify(record)}\n`).join('');
}

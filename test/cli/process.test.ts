import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildCommand } from './built.ts';
import { recording } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'phasegate-process-'));
const command = join(folder, 'phasegate.mjs');

beforeAll(async () => {
  await buildCommand(command);
  writeFileSync(join(folder, 'good.jsonl'), recording('good', 'a b'));
  writeFileSync(join(folder, 'bad.jsonl'), recording('bad', '!a !a !a !a !a'));
});

function start(...args: string[]): ChildProcess {
  return spawn(process.execPath, [command, ...args], { cwd: folder });
}

async function ended(child: ChildProcess): Promise<{ code: number | null; out: string; err: string }> {
  const written = { out: '', err: '' };
  child.stdout?.on('data', (data) => (written.out += data));
  child.stderr?.on('data', (data) => (written.err += data));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...written };
}

describe('the process', { timeout: 60_000 }, () => {
  it.each([
    [0, ['replay', 'good.jsonl']],
    [1, ['replay', 'good.jsonl', 'bad.jsonl']],
    [2, ['replay', 'bad.jsonl', 'nowhere.jsonl']],
    [2, ['replay', '--nonsense']],
    [0, ['--version']],
  ])('ends with %i for %j, and shows no stack', async (code, args) => {
    const result = await ended(start(...args));
    expect(result.code).toBe(code);
    expect(result.err).not.toMatch(/^\s+at /m);
  });

  it('reads standard input as it comes', async () => {
    const child = start('replay', '-', '--json');
    const result = ended(child);
    child.stdin?.write(recording('first', 'a').slice(0, 50));
    child.stdin?.end(recording('first', 'a').slice(50));
    expect(JSON.parse((await result).out)).toMatchObject({ file: 'stdin', run: 'first', calls: 1 });
  });

  it.each([
    [[], /\ninterrupted: this is what was read until then\n$/],
    [['--json'], /"run":"open","calls":1,.*\n\{"interrupted":true\}\n$/],
  ])('ends cleanly with 130 when it is interrupted, and tells what it has read: %j', async (flags, told) => {
    const child = start('replay', '-', ...flags);
    const result = ended(child);
    const open = { type: 'call.started', run: 'open', call: '1', tool: 'a' };
    const runs = Array.from({ length: 200 }, (_, i) =>
      recording(`r${i}`, i === 0 ? '!a !a !a !a !a' : 'a'),
    ).join('');
    child.stdin?.write(`${JSON.stringify(open)}\n${runs}`);
    // A refused run among many is told of at once: then it is reading, and waits for more.
    await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
    child.kill('SIGINT');
    const { code, out, err } = await result;
    expect({ code, err }).toEqual({ code: 130, err: '' });
    expect(out).toMatch(told);
  });

  it('does not crash when no one reads on, as with head', async () => {
    writeFileSync(
      join(folder, 'many.jsonl'),
      Array.from({ length: 20_000 }, (_, i) => recording(`r${i}`, 'a')).join(''),
    );
    const child = start('replay', 'many.jsonl', '--json');
    const errors: string[] = [];
    child.stderr?.on('data', (data) => errors.push(String(data)));
    await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
    child.stdout?.destroy();
    const [code] = (await once(child, 'exit')) as [number | null];
    expect({ code, errors }).toEqual({ code: 141, errors: [] });
  });
});

it('says that its output cannot be written, and ends with 2', { timeout: 60_000 }, async (context) => {
  if (!existsSync('/dev/full')) return context.skip('there is no /dev/full here');
  const full = openSync('/dev/full', 'w');
  const child = spawn(process.execPath, [command, 'replay', 'good.jsonl'], {
    cwd: folder,
    stdio: ['ignore', full, 'pipe'],
  });
  const { code, err } = await ended(child);
  expect(code).toBe(2);
  expect(err).toContain('error (file-unwritable): the output cannot be written: ');
});

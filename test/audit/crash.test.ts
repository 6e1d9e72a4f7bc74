import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { build } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditLog, verifyAudit } from '../../src/audit/index.ts';
import { createEnforcement } from '../../src/index.ts';
import { replayed } from '../replay/support.ts';
import { newPath, recordsOf } from './support.ts';

const folder = mkdtempSync(join(tmpdir(), 'phasegate-crash-'));
const program = join(folder, 'agent.mjs');

// An agent that makes calls without an end, or as many runs as it is told, and says what it has done.
const AGENT = `
import { writeSync } from 'node:fs';
import { createEnforcement, createSupervisor } from './src/index.ts';
import { auditLog } from './src/audit/index.ts';

const [path, options, runs] = process.argv.slice(2);
const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: Infinity }) });
const log = auditLog(path, JSON.parse(options));
enforcement.on(log);
for (let i = 0; i < Number(runs); i++) {
  await enforcement.withRun(async (run) => {
    for (let j = 0; j < 100; j++) {
      await run.callTool('search', { text: 'x'.repeat(200) }, () => writeSync(1, process.pid + '-' + i + ' ' + (j + 1) + '\\n'));
    }
  }, { id: process.pid + '-' + i });
}
await log.close();
`;

beforeAll(async () => {
  await build({
    stdin: { contents: AGENT, resolveDir: process.cwd(), sourcefile: 'agent.ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile: program,
    logLevel: 'silent',
  });
});

function start(path: string, options: object, runs: number): ChildProcess {
  return spawn(process.execPath, [program, path, JSON.stringify(options), String(runs)]);
}

async function kill(child: ChildProcess): Promise<string> {
  const pieces: Buffer[] = [];
  child.stdout?.on('data', (piece: Buffer) => pieces.push(piece));
  await once(child.stdout as NonNullable<typeof child.stdout>, 'data');
  await setTimeout(30);
  child.kill('SIGKILL');
  await once(child, 'close');
  return Buffer.concat(pieces).toString();
}

describe('A process that is killed', { timeout: 60_000 }, () => {
  it.each([
    ['a plain log', { capture: { args: true } }],
    ['a chained log', { chain: true, capture: { args: true } }],
    ['a log in several files', { chain: true, maxBytes: 20_000, keep: 1000 }],
  ])('leaves every call whose body has started in %s, and the next goes on with it', async (_, options) => {
    const path = newPath();
    const said = await kill(start(path, options, 1000));
    const bodies = said.trimEnd().split('\n').length;
    const text = await textOf(path);
    expect(text.split('"type":"call.started"').length - 1).toBeGreaterThanOrEqual(bodies);

    await once(start(path, options, 1), 'close');
    const whole = await textOf(path);
    expect(whole.startsWith(text)).toBe(true);
    if (!('chain' in options)) return;
    const found: unknown[] = [];
    const files = await filesOf(path);
    const [report] = await verifyAudit({ files, onFault: (fault) => found.push(fault) });
    expect(found).toEqual([]);
    expect(report).toMatchObject({ lost: 0, closed: true });
  });

  it('leaves a log that is cut in its last line at most, and the replay says so', async () => {
    const path = newPath();
    const log = auditLog(path);
    const enforcement = createEnforcement();
    enforcement.on(log);
    await enforcement.withRun((run) => run.callTool('search', {}, () => {}), { id: 'first' });
    const text = readFileSync(path, 'utf8');
    // A kill falls between two writes nearly always; a loss of power need not.
    const { reports, faults } = await replayed(text.slice(0, -20));
    expect(reports).toMatchObject([{ run: 'first', calls: 1 }]);
    expect(faults).toEqual([
      { file: 'memory', line: 9, message: expect.stringMatching(/^the last line is cut short or broken: /) },
    ]);
  });
});

describe('Several processes', { timeout: 60_000 }, () => {
  it('may write to one file that has no chain, and every line is whole', async () => {
    const path = newPath();
    const children = Array.from({ length: 4 }, () => start(path, { capture: { args: true } }, 5));
    for (const child of children) child.stdout?.resume();
    await Promise.all(children.map((child) => once(child, 'close')));
    const records = recordsOf(path);
    expect(records.filter(({ type }) => type === 'call.started')).toHaveLength(4 * 5 * 100);
    const { reports, faults } = await replayed(readFileSync(path), {
      enforcement: { config: { agentProfile: { resourceBudget: { maxSteps: Number.POSITIVE_INFINITY } } } },
    });
    expect(faults).toEqual([]);
    expect(reports).toHaveLength(20);
    for (const { calls, verdict } of reports)
      expect({ calls, verdict }).toEqual({ calls: 100, verdict: 'allowed' });
  });
});

async function filesOf(path: string): Promise<string[]> {
  const { partsOf, pathOfPart } = await import('../../src/audit/parts.ts');
  return [...partsOf(path).map((part) => pathOfPart(path, part)), path];
}

async function textOf(path: string): Promise<string> {
  return (await filesOf(path)).map((file) => readFileSync(file, 'utf8')).join('');
}

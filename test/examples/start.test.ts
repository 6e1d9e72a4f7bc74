import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadConfig } from '../../src/load-config.ts';
import { replay } from '../../src/replay/index.ts';
import { type Outcome, runNode } from '../docs/node.ts';
import { createWorkspace, ROOT, type Workspace } from '../docs/workspace.ts';
import { startServer } from '../inspect/support.ts';

const CONFIG = join(ROOT, 'examples', 'phasegate.yaml');
const RECORDINGS = join(ROOT, 'examples', 'recordings');

// Whole programs are run, also on a machine that has other things to do.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let workspace: Workspace;

beforeAll(() => {
  workspace = createWorkspace();
});

afterAll(() => workspace.remove());

describe('npm start', () => {
  let outcome: Outcome;
  let recording: string;

  beforeAll(async () => {
    outcome = await runNode(['examples/start.mjs'], workspace.path, workspace.env);
    recording = /^ {2}(\S+run\.jsonl)$/m.exec(outcome.stdout)?.[1] ?? 'no recording named';
  });

  it('runs to its end', () => {
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
  });

  it('shows a refused call, and what the model is told of it', () => {
    const { stdout } = outcome;
    expect(stdout).toMatch(/OBSERVING +✗ read_file refused .* 0 of 6 left\n/);
    expect(stdout).toContain('step-budget: Step budget exhausted: 6/6');
    expect(words(stdout)).toContain(
      '“Refused: Step budget exhausted: 6/6. All tool calls that this run may make are',
    );
  });

  it('answers with what its tools found, and says what it could not do', () => {
    const answer = words(outcome.stdout.split('\nAnswer\n')[1] ?? '');
    const claims =
      /(\S+) speaks of budgets on (\d+) of its (\d+) lines \((\S+) %\), (\S+) on (\d+) of (\d+) \((\S+) %\)\./.exec(
        answer,
      );
    const [most, next] = [claims?.slice(1, 5), claims?.slice(5, 9)];
    for (const claim of [most, next]) {
      const [path = '', matches, lines, share] = claim ?? [];
      const counted = countIn(path);
      expect({ matches, lines, share }).toEqual({
        matches: String(counted.matches),
        lines: String(counted.lines),
        share: ((100 * counted.matches) / counted.lines).toFixed(1),
      });
    }
    const counts = filesOfSrc().map((path) => countIn(path).matches);
    expect([most?.[1], next?.[1]]).toEqual(
      counts
        .sort((a, b) => b - a)
        .slice(0, 2)
        .map(String),
    );
    expect(answer).toContain('How the first one begins I cannot say: Step budget exhausted: 6/6.');
  });

  it('shows nested calls under their caller, in the phases that they are in', () => {
    expect(outcome.stdout).toMatch(/PLANNING → ACTING {2}▸ measure_files/);
    expect(outcome.stdout).toMatch(/ACTING, loop 1\/2 {5}▸ read_file/);
    expect(outcome.stdout).toMatch(/ACTING, loop 2\/2 {5}▸ read_file/);
    expect(outcome.stdout).toMatch(/ANSWERING +the run ends/);
  });

  it('writes no colours to what is no terminal', () => {
    expect(outcome.stdout).not.toContain('\x1b');
  });

  it('replays its own run and the bundled recordings', () => {
    const report = words(outcome.stdout.split('Replay under the same budgets')[1] ?? '');
    expect(report).toContain(
      `${recording} 7 calls, 0 failed: refused at call 7, read_file: Step budget exhausted: 6/6`,
    );
    expect(report).toMatch(
      /failing-tool\.jsonl 4 calls, 3 failed: refused at call 4, read_file: Loop budget exhausted in ACTING: 2\/2/,
    );
    expect(report).toMatch(/within-the-budget\.jsonl 3 calls, 0 failed: allowed/);
  });

  it('records a run that replays to the decisions that were made', async () => {
    await expectSameDecisions(recording);
  });

  it('says how its run is shown on a page', () => {
    expect(outcome.stdout).toContain(`\n  npx phasegate inspect ${recording}\n`);
  });

  it('shows it there as it goes, where PHASEGATE_INSPECT says that one is served', async () => {
    const { url, store } = await startServer();
    const env = { ...workspace.env, PHASEGATE_INSPECT: url };
    const { stdout } = await runNode(['examples/start.mjs'], workspace.path, env);
    expect(stdout).toContain(`See the run on a page:\n  ${url}\n`);
    expect([...store.runs.values()].map((run) => run.summary())).toMatchObject([
      { live: false, stepCount: 6, maxSteps: 6, refused: 1, lastRefusal: { code: 'step-budget' } },
    ]);
  });

  it('says so in a line where PHASEGATE_INSPECT is no such address', async () => {
    const env = { ...workspace.env, PHASEGATE_INSPECT: 'here' };
    const { code, stdout, stderr } = await runNode(['examples/start.mjs'], workspace.path, env);
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' });
    expect(stdout).toMatch(
      /PHASEGATE_INSPECT must be the address that phasegate inspect prints, .* got "here"\n$/,
    );
  });
});

describe('the scripted model', () => {
  it('does not pretend to know another question', async () => {
    const { code, stdout } = await runNode(
      ['examples/start.mjs', 'What is the weather?'],
      workspace.path,
      workspace.env,
    );
    expect(code).toBe(2);
    expect(stdout).toContain('To ask another, set OPENAI_MODEL');
  });
});

describe('the bundled recordings', () => {
  const names = readdirSync(RECORDINGS);

  it.each(names)('%s replays to the decisions that were made', async (name) => {
    await expectSameDecisions(join(RECORDINGS, name));
  });

  it('are what the script makes anew', async () => {
    const folder = join(workspace.path, 'made-anew');
    expect(await runNode(['examples/record.mjs', folder], workspace.path)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(readdirSync(folder)).toEqual(names);
    for (const name of names) {
      const [made, bundled] = [folder, RECORDINGS].map((place) => eventsOf(join(place, name)));
      expect(made?.map(timeless)).toEqual(bundled?.map(timeless));
    }
  });
});

interface Recorded {
  readonly type: string;
  readonly code?: string;
  readonly message?: string;
  readonly tool?: string;
  readonly time: number;
  readonly waitedMs?: number;
  readonly decisionMs?: number;
  readonly log?: string;
}

function eventsOf(file: string): Recorded[] {
  return readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** What is the same each time. */
function timeless({ time: _, waitedMs: __, decisionMs: ___, log: ____, ...event }: Recorded): object {
  return event;
}

async function expectSameDecisions(file: string): Promise<void> {
  const asked = eventsOf(file).filter(({ type }) => type === 'call.started' || type === 'call.refused');
  const refused = asked.filter(({ type }) => type === 'call.refused');
  const first = asked.findIndex(({ type }) => type === 'call.refused');
  const reports = [];
  for await (const report of replay({
    files: [file],
    all: true,
    enforcement: { config: await loadConfig(CONFIG) },
  })) {
    reports.push(report);
  }
  expect(reports).toHaveLength(1);
  expect(reports[0]).toMatchObject({
    calls: asked.length,
    refused: refused.length,
    verdict: refused[0]?.code ?? 'allowed',
    firstRefusal:
      refused[0] === undefined
        ? null
        : { seq: first + 1, tool: refused[0].tool, code: refused[0].code, message: refused[0].message },
  });
}

function filesOfSrc(): string[] {
  const entries = readdirSync(join(workspace.path, 'src'), { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

function countIn(path: string): { lines: number; matches: number } {
  const lines = readFileSync(resolve(workspace.path, path), 'utf8').trimEnd().split('\n');
  return { lines: lines.length, matches: lines.filter((line) => /budget/i.test(line)).length };
}

/** The words of a text, however its lines are broken. */
function words(text: string): string {
  return text.split(/\s+/).join(' ');
}

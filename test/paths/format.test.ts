import { execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createSupervisor } from '../../src/index.ts';
import { formatPaths, generatePaths, type PathSuite } from '../../src/paths/index.ts';

const supervisor = createSupervisor({ maxSteps: 3, maxLoopsPerPhase: 1 });
const suite = generatePaths(supervisor, { cover: 'guards' });
const write = (format: Parameters<typeof formatPaths>[1], enforcement?: string) =>
  formatPaths(suite, format, supervisor.rules, enforcement);

describe('the paths are written', () => {
  test('as a table that says how many paths cover how much, and what is left', () => {
    const [summary, , first] = write('table').split('\n');
    const events = suite.paths.reduce((sum, { steps }) => sum + steps.length, 0);
    const all = suite.covered + suite.uncovered.length;
    expect(summary).toBe(
      `${suite.paths.length} paths with ${events} events cover ${suite.covered} of ${all} outcomes of guards.`,
    );
    expect(first).toMatch(/^1 {2}propose\.PLANNING {2}/);
    expect(write('table')).toContain(
      'Not covered:\n  propose.PLANNING in IDLE: refused, step-budget: no run is in IDLE with its step budget used up',
    );
  });

  test('as JSON that holds the whole suite', () => {
    expect(JSON.parse(write('json'))).toEqual(suite);
  });

  test('as Markdown with a row a path', () => {
    const rows = write('markdown')
      .split('\n')
      .filter((line) => /^\| \d+ \|/.test(line));
    expect(rows).toHaveLength(suite.paths.length);
    expect(rows.every((row) => row.split(' | ').length === 4)).toBe(true);
  });

  test('as a Mermaid flowchart with refusals as dotted arrows back to where they came from', () => {
    const lines = write('mermaid').split('\n');
    expect(lines[0]).toBe('flowchart TB');
    expect(lines.filter((line) => line.startsWith('  subgraph'))).toHaveLength(suite.paths.length);
    expect(
      lines.some((line) => /-\. "call\.start ✗ step-budget" \.-> p\d+_\d+\["ACTING"\]$/.test(line)),
    ).toBe(true);
  });

  test('with the calls that use up a large budget told as one', () => {
    const large = createSupervisor({ maxSteps: 300 });
    const text = formatPaths(generatePaths(large, { cover: 'guards' }), 'table', large.rules);
    expect(text).toMatch(/\(propose\.PLANNING, call\.start, call\.succeed\) × 29\d/);
  });
});

describe('the test file that is written', () => {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'phasegate-paths-')));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const alias = {
    'phasegate/paths': `${root}/src/paths/index.ts`,
    phasegate: `${root}/src/index.ts`,
  };
  writeFileSync(
    `${folder}/vitest.config.mjs`,
    `export default { resolve: { alias: ${JSON.stringify(alias)} } };`,
  );

  /** Runs vitest in the folder, and answers whether all tests pass and what it printed. */
  function run(file: string): { readonly passed: boolean; readonly output: string } {
    const vitest = `${root}/node_modules/vitest/vitest.mjs`;
    try {
      const output = execFileSync(process.execPath, [vitest, 'run', '--root', folder, file], {
        encoding: 'utf8',
        stdio: 'pipe',
        env: { ...process.env, NO_COLOR: '1' },
      });
      return { passed: true, output };
    } catch (error) {
      return { passed: false, output: String((error as { stdout?: string }).stdout) };
    }
  }

  test('runs as it is, against an enforcement of the same rules', { timeout: 60_000 }, () => {
    writeFileSync(`${folder}/own.test.mjs`, write('vitest'));
    const { passed, output } = run('own.test.mjs');
    expect(output).toContain(`${suite.paths.length} passed`);
    expect(passed).toBe(true);
  });

  test('fails against an enforcement that follows other rules', { timeout: 60_000 }, () => {
    writeFileSync(
      `${folder}/enforcement.mjs`,
      "import { createEnforcement, createSupervisor } from 'phasegate';\n" +
        'export const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 4 }) });\n',
    );
    writeFileSync(`${folder}/users.test.mjs`, write('vitest', './enforcement.mjs'));
    const { passed, output } = run('users.test.mjs');
    expect(passed).toBe(false);
    expect(output).toMatch(/Tests +\d+ failed/);
  });

  test('says no limit as JavaScript does', () => {
    const unlimited = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
    const empty: PathSuite = { cover: 'phases', paths: [], covered: 1, uncovered: [] };
    expect(formatPaths(empty, 'vitest', unlimited.rules)).toContain('"maxSteps":Number.POSITIVE_INFINITY');
  });
});

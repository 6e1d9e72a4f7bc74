import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { withMeasured } from '../../bench/report/page.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

function scale(...args: string[]) {
  return spawnSync(process.execPath, [join(ROOT, 'bench/scale.mjs'), ...args], { encoding: 'utf8' });
}

describe('npm run bench:scale', () => {
  it('says with --help what it does, and measures nothing', () => {
    const { status, stdout } = scale('--help');
    expect(status).toBe(0);
    for (const option of ['--json', '--write', '--quick', '--only PART', '--help'])
      expect(stdout).toContain(option);
  });

  it.each([
    [
      ['--only', 'nothing'],
      '--only nothing: there is no such part; there are: live-runs, phases, long-run, waiting',
    ],
    [['--fast'], "Unknown option '--fast'"],
    [['--write', '--only', 'phases'], '--write and --only'],
  ])('ends with %j before it measures anything', (args, message) => {
    const { status, stdout, stderr } = scale(...args);
    expect(status).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(message);
  });
});

describe.each([
  ['test:compat', 'compat/run.mjs', 'npm run test:compat'],
  ['bench:restate', 'compat/restate/bench.mjs', 'Usage: npm run bench:restate'],
])('npm run %s', (_, script, usage) => {
  const command = (...args: string[]) =>
    spawnSync(process.execPath, [join(ROOT, script), ...args], { encoding: 'utf8' });

  it('says with --help what it does, and starts nothing', () => {
    expect(command('--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(usage),
      stderr: '',
    });
  });

  it.each([
    ['--fast', /^Unknown option '--fast'\n\n/],
    ['nothing', /^There is no nothing; .*\n\n/],
  ])('ends with %s before it starts anything', (arg, message) => {
    const { status, stdout, stderr } = command(arg);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(message);
    expect(stderr).toContain(usage);
  });
});

describe('--write', () => {
  const page = 'Before\n\n<!-- measured: calls -->\n\nold\n\n<!-- end -->\n\nAfter <!-- end -->\n';

  it('puts what was measured in the place of what was there, and touches nothing else', () => {
    const written = withMeasured(page, 'calls', 'new $& text');
    expect(written).toBe(page.replace('old', () => 'new $& text'));
    expect(withMeasured(written, 'calls', 'old')).toBe(page);
  });

  it('writes nowhere where there is no place for it', () => {
    expect(() => withMeasured(page, 'peers', 'new')).toThrow('The page has no place for peers');
    expect(() => withMeasured('<!-- measured: calls -->\n', 'calls', 'new')).toThrow('<!-- end -->');
  });

  it.each(['calls', 'peers', 'scale'])('finds the place for %s in docs/performance.md', (name) => {
    const text = readFileSync(join(ROOT, 'docs/performance.md'), 'utf8');
    expect(withMeasured(text, name, 'WRITTEN')).toContain('\n\nWRITTEN\n\n<!-- end -->');
  });
});

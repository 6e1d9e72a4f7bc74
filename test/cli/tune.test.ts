import { describe, expect, it } from 'vitest';
import { drawBars, ranges } from '../../src/cli/tune/plot.ts';
import { folderWith, interruptedAfter, recording, run } from './support.ts';

const runs =
  Array.from({ length: 9 }, (_, i) => recording(`short-${i}`, 'a b')).join('') +
  recording('long', 'a '.repeat(30).trim()) +
  recording('failing', 'a !b !b !b a');

describe('phasegate tune', () => {
  it('shows what each budget would have stopped, and the figures as plots', async () => {
    folderWith({ 'runs.jsonl': runs });
    const { code, out, err } = await run(['tune', 'runs.jsonl', '--steps', '2,20,50', '--loops', '0,2,3']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(
      [
        '11 runs, 53 calls, 3 failed',
        '',
        'Step budget (maxSteps), without a loop budget',
        '  budget   stops   of all   at call: first   median    last',
        '       2       1     9.1%                3        3       3',
        '      20       1     9.1%               21       21      21',
        '      50       0     0.0%',
        '',
        'Loop budget (maxLoopsPerPhase), without a step budget',
        '  budget   stops   of all   at call: first   median    last',
        '       0       1     9.1%                3        3       3',
        '       2       1     9.1%                5        5       5',
        '       3       0     0.0%',
        '',
        'Runs stopped by both together',
        '  steps \\ loops       0       2       3',
        '              2       2       2       1',
        '             20       2       2       1',
        '             50       1       1       0',
        '',
        'Calls a run',
        '      0  0',
        '      1  0',
        '    2–3  9  ████████████████████████████████████████████████████████████████████',
        '    4–7  1  ███████▌',
        '   8–15  0',
        '  16–31  1  ███████▌',
        '  median 2, nine in ten up to 5, greatest 30',
        '',
        'Failures in a row, at worst',
        '  0  10  ███████████████████████████████████████████████████████████████████████',
        '  1   0',
        '  2   0',
        '  3   1  ███████▏',
        '  median 0, nine in ten up to 0, greatest 3',
        '',
        'Nested calls of one call, at most',
        '  none',
        '',
        'Levels of sub-agents',
        '  none',
        '',
        'Least budgets that stop none: maxSteps 30, maxLoopsPerPhase 3',
        '',
      ].join('\n'),
    );
  });

  it('prints all of it as one JSON object with --json', async () => {
    folderWith({ 'runs.jsonl': runs });
    const { code, out } = await run(['tune', 'runs.jsonl', '--json', '--steps', '20']);
    expect(code).toBe(0);
    expect(out.trimEnd().split('\n')).toHaveLength(1);
    expect(JSON.parse(out)).toMatchObject({
      runs: 11,
      calls: 53,
      steps: [{ budget: 20, stopped: 1, at: { least: 21, median: 21, greatest: 21 } }],
      least: { maxSteps: 30, maxLoopsPerPhase: 3 },
    });
  });

  it('fits into 80 columns, whatever the figures', async () => {
    folderWith({ 'runs.jsonl': `${runs}${recording('huge', '!a '.repeat(3000).trim())}` });
    const { out } = await run(['tune', 'runs.jsonl', '--loops', '0,1,2,3,5,8,13,21']);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it('says when runs are stopped under any budget', async () => {
    folderWith({ 'runs.jsonl': runs, 'c.yaml': 'dfa:\n  removeTransitions: [[OBSERVING, PLANNING]]\n' });
    const { out } = await run(['tune', 'runs.jsonl', '--config', 'c.yaml']);
    expect(out).toContain('11 runs are stopped under any budget: by the table');
  });

  it('ends with 2 when there was input that cannot be read, and does the rest', async () => {
    folderWith({ 'runs.jsonl': runs, 'text.md': '# Hello' });
    const { code, out, err } = await run(['tune', 'text.md', 'runs.jsonl']);
    expect(code).toBe(2);
    expect(err).toContain('unreadable: text.md:1: ');
    expect(out).toContain('11 runs, 53 calls');
    expect(await run(['tune', 'text.md'])).toMatchObject({ code: 2, out: '0 runs, 0 calls, 0 failed\n' });
  });
});

describe('an interruption', () => {
  const read = `${recording('one', 'a b')}${JSON.stringify({ type: 'call.started', run: 'open', tool: 'a' })}\n`;

  it('tells what was read until then, with the runs that were open, and ends with 130', async () => {
    const { code, out, err } = await run(['tune', '-'], interruptedAfter(read));
    expect({ code, err }).toEqual({ code: 130, err: '' });
    expect(out).toMatch(/^2 runs, 3 calls, 0 failed\n/);
    expect(out).toMatch(/\ninterrupted: this is what was read until then\n$/);
  });

  it('stands in the object with --json', async () => {
    const { code, out } = await run(['tune', '-', '--json'], interruptedAfter(read));
    expect(code).toBe(130);
    expect(JSON.parse(out)).toMatchObject({ runs: 2, calls: 3, interrupted: true });
    expect(JSON.parse((await run(['tune', '-', '--json'], { stdin: read })).out)).not.toHaveProperty(
      'interrupted',
    );
  });
});

describe('a plot', () => {
  it('shows what is there, however small it is beside the rest', () => {
    expect(
      drawBars(
        [
          { label: 'a', value: 10_000 },
          { label: 'bb', value: 1 },
          { label: 'c', value: 0 },
        ],
        30,
      ),
    ).toEqual(['   a  10,000  ████████████████', '  bb       1  ▏', '   c       0']);
  });

  it('has a bar for each number where they are small, else doubles the range', () => {
    expect(
      ranges([
        [0, 1],
        [11, 2],
      ]).map(({ label }) => label),
    ).toEqual('0 1 2 3 4 5 6 7 8 9 10 11'.split(' '));
    expect(
      ranges([
        [0, 1],
        [12, 2],
        [1, 3],
        [2, 4],
        [3, 5],
      ]),
    ).toEqual([
      { label: '0', value: 1 },
      { label: '1', value: 3 },
      { label: '2–3', value: 9 },
      { label: '4–7', value: 0 },
      { label: '8–15', value: 2 },
    ]);
  });
});

import { describe, expect, it } from 'vitest';
import { callsMarkdown, callsReport } from '../../bench/report/calls.mjs';
import { GOALS, inWords, verdicts } from '../../bench/report/goals.mjs';
import { caption } from '../../bench/report/measured-on.mjs';
import { table } from '../../bench/report/table.mjs';
import { bytes, count, duration, significant } from '../../bench/report/units.mjs';
import { WHERE } from './where.ts';

describe('units', () => {
  it.each([
    [0.4, '0.4 ns'],
    [999.4, '999 ns'],
    [1000, '1 µs'],
    [-1500, '-1.5 µs'],
    [2_540_000, '2.54 ms'],
    [3.456e9, '3.46 s'],
  ])('write %d nanoseconds as %s', (ns, text) => {
    expect(duration(ns)).toBe(text);
  });

  it('write a size in bytes up to the point where only millions of them say something', () => {
    expect([288, 3500, 99_999, 123_456_789].map(bytes)).toEqual(['288 B', '3,500 B', '100,000 B', '123 MB']);
  });

  it('keep three digits of what was measured, and all of what was counted', () => {
    expect(significant(1_234_567)).toBe('1,230,000');
    expect(count(1_234_567)).toBe('1,234,567');
  });
});

describe('a table', () => {
  it('has its figures on the right, its words on the left, and one width for each column', () => {
    const rows = [
      ['short', '1', 'why'],
      ['a longer one', '1,000', ''],
    ];
    expect(table(['', 'median', 'goal'], rows, ['goal'])).toBe(
      [
        '|              | median | goal |',
        '| ------------ | -----: | ---- |',
        '| short        |      1 | why  |',
        '| a longer one |  1,000 |      |',
      ].join('\n'),
    );
  });

  it('escapes what would end a cell or a row', () => {
    expect(table(['a|b'], [['c\\|d\ne']])).toBe('| a\\|b     |\n| -------- |\n| c\\\\\\|d e |');
  });
});

describe('goals', () => {
  const rows = [
    { id: 'one', name: 'one', ns: 100 },
    { id: 'two', name: 'two', ns: 2000 },
    { id: 'heap', name: 'heap', bytes: 300 },
  ];
  const met = (goal: (typeof GOALS)[number]) => verdicts(rows, [goal]).map((verdict) => verdict.met);

  it('are met at the limit, and missed beyond it', () => {
    expect(met({ row: 'one', most: 100 })).toEqual([true]);
    expect(met({ row: 'one', most: 99 })).toEqual([false]);
    expect(met({ row: 'heap', most: 300 })).toEqual([true]);
    expect(met({ row: 'heap', most: 299 })).toEqual([false]);
    expect(met({ row: 'two', times: 20, of: 'one', words: 'one' })).toEqual([true]);
    expect(met({ row: 'two', times: 19, of: 'one', words: 'one' })).toEqual([false]);
    expect(met({ row: 'two', most: 1900, over: 'one', words: 'one' })).toEqual([true]);
    expect(met({ row: 'two', most: 1899, over: 'one', words: 'one' })).toEqual([false]);
    expect(met({ row: 'two', perSecond: 500_000 })).toEqual([true]);
    expect(met({ row: 'two', perSecond: 500_001 })).toEqual([false]);
  });

  it('say what was asked, in the unit of the row, and what was found where the row does not', () => {
    const words = verdicts(rows, [
      { row: 'two', most: 1500 },
      { row: 'heap', most: 300 },
      { row: 'heap', most: 0 },
      { row: 'two', times: 19, of: 'one', words: 'the first' },
      { row: 'two', most: 3000, over: 'one', words: 'the first' },
      { row: 'two', perSecond: 300_000 },
    ]).map(inWords);
    expect(words).toEqual([
      '≤ 1.5 µs: missed',
      '≤ 300 B: met',
      'nothing: missed',
      '≤ 19 × the first: missed, 20',
      '≤ 3 µs over the first: met, 1.9 µs',
      '≥ 300,000 a second: met',
    ]);
  });

  it('cannot be judged without their row', () => {
    expect(() => verdicts(rows, [{ row: 'three', most: 1 }])).toThrow(
      'There is no row "three", but one, two, heap',
    );
  });
});

describe('the report of the bench', () => {
  // A row for each that a goal asks for, all as good as it asks.
  const rows = [
    { id: 'switch', name: 'a switch', ns: 40 },
    { id: 'guarded', name: 'a guarded call', ns: 800 },
    { id: 'bare await', name: 'an await', ns: 600 },
    { id: 'callTool async', name: 'callTool', ns: 3600 },
    { id: 'refusal', name: 'a refusal', ns: 500 },
    { id: 'build 200', name: 'build', ns: 100e6 },
    { id: 'build call 200', name: 'build and call', ns: 100e6 },
    { id: 'change 200', name: 'change', ns: 10e6 },
    { id: 'change call 200', name: 'change and call', ns: 10e6 },
    { id: 'replay', name: 'replay', ns: 3000 },
    { id: 'replay all', name: 'replay all', ns: 3000 },
    { id: 'import', name: 'import', ns: 15e6, once: true as const },
    { id: 'heap of begun', name: 'heap', bytes: 300 },
    { id: 'heap of in flight', name: 'heap in flight', bytes: 400 },
    { id: 'allocated besides', name: 'allocated', bytes: 0 },
  ];

  it('compares each time with the guarded call, but for what is done once', () => {
    const report = callsReport(rows, WHERE);
    expect(report.rows.find(({ id }) => id === 'switch')).toMatchObject({
      ratio: 0.05,
      perSecond: 25_000_000,
    });
    expect(report.rows.find(({ id }) => id === 'import')).not.toHaveProperty('ratio');
    expect(report.rows.find(({ id }) => id === 'heap of begun')).not.toHaveProperty('perSecond');
  });

  it('judges all goals, each beside its row', () => {
    const report = callsReport(rows, WHERE);
    expect(report.missed).toBe(0);
    expect(report.rows.flatMap(({ goals }) => goals)).toHaveLength(GOALS.length);
    expect(callsMarkdown(report)).toContain(`Of ${GOALS.length} goals ${GOALS.length} are met.`);
    expect(callsMarkdown(report)).toMatch(
      /^\| a guarded call +\| +800 ns \| +1,250,000 \| +1 \| ≤ 1 µs: met; ≤ 20 × the switch: met, 20 +\|$/m,
    );
  });

  it('counts a goal that is missed, and says which', () => {
    const slower = rows.map((row) => (row.id === 'refusal' ? { ...row, ns: 501 } : row));
    const report = callsReport(slower, WHERE);
    expect(report.missed).toBe(1);
    expect(callsMarkdown(report)).toMatch(/^\| a refusal .* ≤ 500 ns: missed/m);
  });

  it('says where it was measured, and of a quick run that it is one', () => {
    expect(caption(WHERE)).toBe(
      'Measured on 2026-01-02 with phasegate 1.2.3 and Node v20.0.0, on 2 cores of A <CPU> & more',
    );
    expect(caption({ ...WHERE, quick: true })).toMatch(/; a quick run, /);
  });
});

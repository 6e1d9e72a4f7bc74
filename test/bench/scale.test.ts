import { describe, expect, it } from 'vitest';
import {
  liveRunsSection,
  longRunSection,
  phasesSection,
  scaleMarkdown,
  scaleReport,
  waitingSection,
} from '../../bench/report/scale.mjs';
import { WHERE } from './where.ts';

const live = (runs: number, callNs: number) => ({ runs, callNs, beginNs: 90, idleBytes: 288.4, heap: 3e8 });
const phases = (count: number, callNs: number) => ({ phases: count, callNs, buildNs: 1e6, changeNs: 1e5 });
const waiting = (count: number, servedNs: number) => ({ waiting: count, servedNs, served: 1000 });
const met = ({ verdicts }: { verdicts: readonly { met: boolean }[] }) =>
  verdicts.map((verdict) => verdict.met);

describe('the report of the scale', () => {
  it('calls a cost flat while it stays within twice the least, whichever size has that', () => {
    expect(met(phasesSection([phases(7, 100), phases(1000, 200)]))).toEqual([true]);
    expect(met(phasesSection([phases(7, 201), phases(50, 100), phases(1000, 150)]))).toEqual([false]);
  });

  it('asks for a million live runs', () => {
    expect(met(liveRunsSection([live(1000, 100), live(1_000_000, 150)]))).toEqual([true, true]);
    expect(met(liveRunsSection([live(1000, 100), live(999_999, 300)]))).toEqual([false, false]);
  });

  it('calls memory constant that does not grow, and a log bounded that says what it let go', () => {
    const run = (heap: number, log: number, dropped: number) => ({
      through: 'run.admit',
      points: [
        { calls: 10, callNs: 100, heap: 5e6 },
        { calls: 1000, callNs: 100, heap },
      ],
      log,
      dropped,
    });
    expect(met(longRunSection([run(4e6, 100, 900)]))).toEqual([true, true]);
    expect(met(longRunSection([run(6e6, 100, 900)]))).toEqual([true, true]);
    expect(met(longRunSection([run(6_000_001, 1000, 0)]))).toEqual([false, false]);
    expect(met(longRunSection([run(5e6, 100, 0)]))).toEqual([true, false]);
  });

  it('calls a queue quadratic whose calls cost more the more of them wait', () => {
    expect(met(waitingSection([waiting(10, 100), waiting(10_000, 3000)]))).toEqual([true, true]);
    expect(met(waitingSection([waiting(10, 100), waiting(10_000, 100_000)]))).toEqual([true, false]);
  });

  it('is written as a table and a line for each goal', () => {
    const section = liveRunsSection([live(1000, 100), live(1_000_000, 250)]);
    const text = scaleMarkdown(scaleReport([section], WHERE));
    expect(text).toContain('### Live runs');
    expect(text).toMatch(/^\| 1,000,000 \| +90 ns \| +288 B \| 250 ns \| +300 MB \|$/m);
    expect(text).toContain(
      '- the cost of a call is flat within 2 ×: **no**, 2.5 × from the least to the most',
    );
  });
});

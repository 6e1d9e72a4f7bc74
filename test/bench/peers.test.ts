import { describe, expect, it } from 'vitest';
import { chart } from '../../bench/report/chart.mjs';
import { peersMarkdown, peersReport } from '../../bench/report/peers.mjs';
import { WHERE } from './where.ts';

const VERSIONS = {
  robot3: '1.0.0',
  xstate: '5.0.0',
  langchain: '2.0.0',
  '@open-policy-agent/opa-wasm': '3.0.0',
};

describe('the report of the peers', () => {
  const rows = [
    { id: 'langchain agent', name: '', ns: 2e6 },
    { id: 'guarded', name: '', ns: 200 },
    { id: 'robot3', name: '', ns: 1000 },
  ];
  const report = peersReport(rows, VERSIONS, WHERE);

  it('begins with the quickest, and compares each with the guarded call', () => {
    expect(report.rows.map(({ id, ratio }) => [id, ratio])).toEqual([
      ['guarded', 1],
      ['robot3', 5],
      ['langchain agent', 10_000],
    ]);
  });

  it('says which version was measured', () => {
    expect(report.rows.map(({ name }) => name)).toContain('robot3 1.0.0');
  });

  it('names what was not measured, and gives it no figure', () => {
    expect(report.unmeasured).toContain('OPA: opa-wasm 3.0.0');
    expect(peersMarkdown(report)).toMatch(
      /^\| OPA: opa-wasm 3\.0\.0 +\| +\| +\| +\| not measured in this run +\|$/m,
    );
  });

  it('has nothing of a row that it does not know', () => {
    expect(() => peersReport([...rows, { id: 'other', name: '', ns: 1 }], VERSIONS, WHERE)).toThrow(
      'Nothing is said of the row "other"',
    );
  });
});

describe('the chart', () => {
  const bars = (...times: number[]) =>
    times.map((ns, index) => ({ name: `bar ${index}`, note: 'a note', ns, own: index === 0 }));
  const svgOf = (...times: number[]) =>
    chart({ rows: bars(...times), caption: 'Measured', inWords: 'In words' });
  const dots = (svg: string) => [...svg.matchAll(/<circle [^>]*cx="([\d.]+)"/g)].map(([, cx]) => Number(cx));

  it('puts each dot as far from the one before as it takes times as long', () => {
    const [first = 0, second = 0, third = 0] = dots(svgOf(10, 100, 10_000));
    expect(second).toBeGreaterThan(first);
    expect((third - second) / (second - first)).toBeCloseTo(2, 1);
  });

  it('holds every dot between the ends of its scale, also where there is only one', () => {
    for (const times of [[7], [1, 1000], [0.4, 999, 3.4e9]]) {
      const svg = svgOf(...times);
      const grid = [...svg.matchAll(/class="pgc-grid" d="M([\d.]+) /g)].map(([, x]) => Number(x));
      expect(grid.length).toBeGreaterThan(1);
      for (const dot of dots(svg)) {
        expect(dot).toBeGreaterThanOrEqual(Math.min(...grid));
        expect(dot).toBeLessThanOrEqual(Math.max(...grid));
      }
    }
  });

  it('draws no time that is none', () => {
    for (const ns of [0, -5, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(() => svgOf(10, ns)).toThrow('No time to draw');
    }
  });

  it('escapes names and captions, and says in words what it shows', () => {
    const row = { name: 'a < b & "c"', note: "it's", ns: 5, own: false };
    const svg = chart({ rows: [row], caption: WHERE.cpu, inWords: 'Time: <5 ns' });
    expect(svg).toContain('>a &#60; b &#38; &#34;c&#34;<');
    expect(svg).toContain('A &#60;CPU&#62; &#38; more');
    expect(svg).toContain('<desc id="pgc-desc">Time: &#60;5 ns</desc>');
    expect(svg.replace(/<[^<>]*>/g, '')).not.toMatch(/[<>]/);
  });

  it('writes a long caption in lines', () => {
    const caption = 'word '.repeat(60).trim();
    const svg = chart({ rows: bars(5), caption, inWords: '' });
    const lines = [...svg.matchAll(/class="pgc-small"[^>]*>([^<]*)</g)].map(([, line = '']) => line);
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.join(' ')).toBe(`${caption}.`);
  });

  it('has the colours of a dark page too', () => {
    expect(svgOf(5)).toContain('@media (prefers-color-scheme:dark){.pgc-page{fill:');
  });
});

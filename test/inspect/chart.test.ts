import { describe, expect, it } from 'vitest';
import { Charts, chartOf } from '../../src/inspect/chart.ts';

const WITH_REVIEW = new Map([
  ['IDLE', ['PLANNING']],
  ['PLANNING', ['ACTING', 'REVIEW']],
  ['REVIEW', ['ACTING']],
  ['ACTING', ['OBSERVING']],
  ['OBSERVING', ['PLANNING']],
]);

describe('the chart of a table', () => {
  it('is at hand for the default table, as it would be laid out now', async () => {
    const charts = {
      right: await chartOf([], undefined, 'right'),
      down: await chartOf([], undefined, 'down'),
    };
    await expect(`${JSON.stringify(charts)}\n`).toMatchFileSnapshot('../../src/inspect/default-chart.json');
    expect(await new Charts().of(null, 'down')).toEqual(charts.down);
  });

  it('shows the phases and transitions of another table', async () => {
    const chart = await new Charts().of(WITH_REVIEW, 'right');
    expect(chart.states.map(({ phase }) => phase)).toContain('REVIEW');
    const edge = chart.edges.find(({ from, to }) => from === 'PLANNING' && to === 'REVIEW');
    expect(edge?.points.length).toBeGreaterThan(1);
    expect(chart.edges.filter(({ legal }) => legal).map(({ from, to }) => `${from}:${to}`)).not.toContain(
      'OBSERVING:ANSWERING',
    );
  });

  it('is laid out once', async () => {
    const charts = new Charts();
    expect(await charts.of(WITH_REVIEW, 'right')).toBe(await charts.of(new Map(WITH_REVIEW), 'right'));
  });

  it.each([
    ['invalid-phase', new Map([['<script>', ['IDLE']]])],
    ['invalid-transition', new Map([['IDLE', ['NOWHERE']]])],
    ['table-too-large', new Map(Array.from({ length: 61 }, (_, index) => [`P${index}`, []]))],
    ['table-too-large', new Map([['IDLE', Array.from({ length: 201 }, () => 'PLANNING')]])],
  ])('is refused as %s for what is no table of ours', async (code, transitions) => {
    await expect(new Charts().of(transitions, 'right')).rejects.toMatchObject({ status: 422, code });
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toSvg } from '../../src/diagram/index.ts';
import { type Layout, layOut } from '../../src/diagram/layout.ts';
import { pictureOf } from '../../src/diagram/picture.ts';
import type { Box } from '../../src/diagram/shapes.ts';
import { escaped } from '../../src/diagram/shapes.ts';
import { createSupervisor, type SupervisorOptions } from '../../src/index.ts';
import { describeInBrowser } from '../embedding/chromium.ts';
import { anyOptions, denseTable, longTable } from './tables.ts';

describe('toSvg', { timeout: 60_000 }, () => {
  test('says in words what it shows, for who cannot see it', async () => {
    const svg = await toSvg(createSupervisor({ maxSteps: 20, maxLoopsPerPhase: 2 }));

    expect(svg).toMatch(
      /^<svg [^>]*role="img" aria-labelledby="(\S+)-title \1-desc">\n<title id="\1-title">/,
    );
    expect(svg).toMatch(/<desc [^>]*>A run begins in IDLE\. IDLE to PLANNING; /);
    expect(svg).toMatch(/<desc [^>]*>[^<]*Step budget: 20 calls of a run may end well\./);
  });

  test('shows both budgets, and the self-loop that nested calls and retries take', async () => {
    const texts = textsOf(await toSvg(createSupervisor({ maxSteps: 20, maxLoopsPerPhase: 2 })));

    expect(texts).toContain(
      'Step budget: 20 calls of a run may end well. Loop budget: 2 self-loops on a phase before it is left.',
    );
    expect(texts).toEqual(expect.arrayContaining(['nested call or retry,', 'at most 2 a visit']));
  });

  test('shows retries as a move where a failed call is observed', async () => {
    const texts = textsOf(await toSvg(createSupervisor({ onToolError: 'observe' })));

    expect(texts).toEqual(expect.arrayContaining(['nested call,', 'call ends']));
    expect(texts).not.toContain('nested call or retry,');
  });

  test('shows budgets without limit, and of nothing', async () => {
    const none = textsOf(await toSvg(createSupervisor({ maxSteps: 1, maxLoopsPerPhase: 0 })));
    const all = textsOf(
      await toSvg(
        createSupervisor({ maxSteps: Number.POSITIVE_INFINITY, maxLoopsPerPhase: Number.POSITIVE_INFINITY }),
      ),
    );

    expect(none).toContain('never: the loop budget is 0');
    expect(none.join()).toContain('Step budget: 1 call of a run');
    expect(all).toContain('without limit');
    expect(all.join()).toContain('Step budget: any number of calls');
  });

  test('shows which phases nothing leads to', async () => {
    const byDefault = textsOf(await toSvg(createSupervisor()));
    const strict = textsOf(
      await toSvg(createSupervisor({ onBudgetExhausted: 'terminate', onRejected: 'terminate' })),
    );

    expect(byDefault).toContain('nothing leads there: REJECTED, EXHAUSTED');
    expect(strict.join()).not.toContain('nothing leads there');
    expect(strict).toEqual(expect.arrayContaining(['a budget is used up', 'a check refuses']));
  });

  test('gives the same bytes for the same rules', async () => {
    const options = longTable();

    expect(await toSvg(createSupervisor(options))).toBe(await toSvg(createSupervisor(options)));
  });

  test('has the colours that were asked for', async () => {
    const supervisor = createSupervisor();
    const [auto, light, dark] = await Promise.all([
      toSvg(supervisor),
      toSvg(supervisor, { theme: 'light' }),
      toSvg(supervisor, { theme: 'dark' }),
    ]);

    expect(auto).toContain('@media (prefers-color-scheme:dark)');
    expect(light).not.toContain('@media');
    expect(dark).not.toContain('@media');
    expect(light).toContain('.pg-page{fill:#ffffff}');
    expect(dark).not.toContain('#ffffff');
  });

  test('refuses a theme that does not exist', async () => {
    await expect(toSvg(createSupervisor(), { theme: 'sepia' as 'dark' })).rejects.toMatchObject({
      code: 'invalid-argument',
      message: "theme must be 'auto' or 'light' or 'dark', got \"sepia\"",
    });
  });

  test('escapes whatever is a letter of XML', () => {
    expect(escaped(`<a b="c">&'`)).toBe('&#60;a b=&#34;c&#34;&#62;&#38;&#39;');
  });
});

describe('the layout', { timeout: 300_000 }, () => {
  const cases: readonly (readonly [string, SupervisorOptions])[] = [
    ['the default table', {}],
    ['twenty phases', longTable()],
    ['a dense table', denseTable()],
  ];

  test.each(cases)('keeps all apart in %s', async (_, options) => {
    await expectAllApart(options);
  });

  test('keeps all apart in any table', async () => {
    await fc.assert(fc.asyncProperty(anyOptions, expectAllApart), { numRuns: 12 });
  });

  test('leads runs one way: what is further from IDLE is further to the right', async () => {
    const { phases, start } = await layOut(pictureOf(createSupervisor().rules), 'right');
    const left = ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING', 'ANSWERING'].map((name) => phases.get(name)?.x);

    expect([start.x, ...left]).toEqual([start.x, ...left].toSorted((a = 0, b = 0) => a - b));
  });
});

describeInBrowser('an SVG in a browser', (openPage) => {
  test.each([
    ['default', {}],
    ['of twenty phases', longTable()],
    ['dense', denseTable()],
  ] as const)('%s: every text fits, and none lies on another', async (_, options) => {
    const page = await openPage({ html: await toSvg(createSupervisor(options)) });

    const found = await page.evaluate(() => {
      const texts = [...document.querySelectorAll('svg text')].map((text) => ({
        text: text.textContent,
        box: text.getBoundingClientRect(),
        around: text.parentElement?.querySelector(':scope > rect')?.getBoundingClientRect(),
        isName: text.classList.contains('pg-name'),
      }));
      const meet = (a: DOMRect, b: DOMRect) =>
        a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
      const page = document.querySelector('svg')?.getBoundingClientRect() as DOMRect;
      return {
        texts: texts.length,
        tooWide: texts.filter(({ box, around, isName }) => isName && (around?.width ?? 0) < box.width + 8),
        overlaps: texts.filter(({ box }, i) => texts.some((other, j) => j < i && meet(box, other.box))),
        outside: texts.filter(({ box }) => box.right > page.right || box.bottom > page.bottom),
      };
    });

    expect(found.texts).toBeGreaterThan(10);
    expect(found).toMatchObject({ tooWide: [], overlaps: [], outside: [] });
  });

  test('is well-formed XML, and no document but itself', async () => {
    const svg = await toSvg(createSupervisor(longTable()));
    const page = await openPage({ html: '' });

    const root = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
      return {
        name: parsed.documentElement.nodeName,
        error: parsed.querySelector('parsererror')?.textContent,
      };
    }, svg);

    expect(root).toEqual({ name: 'svg', error: undefined });
    expect(svg).not.toMatch(/href|url\(|@import|<script/);
  });

  test('follows what the reader’s system prefers', async () => {
    const html = await toSvg(createSupervisor());
    const background = async (colorScheme: 'light' | 'dark') => {
      const page = await openPage({ html, colorScheme });
      return page.evaluate(() => getComputedStyle(document.querySelector('.pg-page') as Element).fill);
    };

    expect(await background('light')).toBe('rgb(255, 255, 255)');
    expect(await background('dark')).toBe('rgb(15, 21, 28)');
  });
});

async function expectAllApart(options: SupervisorOptions): Promise<void> {
  const picture = pictureOf(createSupervisor(options).rules);
  for (const direction of ['right', 'down'] as const) {
    const layout = await layOut(picture, direction);
    const phases = [...layout.phases.values(), layout.start];
    const labels = layout.arrows.flatMap(({ label }) => label ?? []);
    expect(labels).toHaveLength(picture.arrows.filter(({ label }) => label.length > 0).length);
    expect(pairsThatMeet([...phases, ...labels])).toEqual([]);
    expect(linesThrough(layout, [...phases, ...labels])).toEqual([]);
  }
}

function pairsThatMeet(boxes: readonly Box[]): unknown[] {
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) => meet(a, b)));
}

// A line may touch the edge of a box, where it begins or ends.
function linesThrough({ arrows }: Layout, boxes: readonly Box[]): unknown[] {
  const inside = boxes.map((box) => ({
    x: box.x + 1,
    y: box.y + 1,
    width: box.width - 2,
    height: box.height - 2,
  }));
  const pieces = arrows.flatMap(({ points }) =>
    points.slice(1).map((end, index) => {
      const start = points[index] ?? end;
      const [x, y] = [Math.min(start.x, end.x), Math.min(start.y, end.y)];
      return { x, y, width: Math.abs(start.x - end.x), height: Math.abs(start.y - end.y) };
    }),
  );
  return pieces.filter((piece) => inside.some((box) => meet(box, piece)));
}

function meet(a: Box, b: Box): boolean {
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

function textsOf(svg: string): string[] {
  return [...svg.matchAll(/<text [^>]*>([^<]*)<\/text>/g)].map(([, said]) => said ?? '');
}

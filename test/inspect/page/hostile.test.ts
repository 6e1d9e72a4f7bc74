import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { callRefused, runEnded, runStarted } from './events.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

const RLO = '\u202e';
const HOSTILE = [
  '<img src=x onerror="window.owned=true">',
  '</script><script>window.owned=true</script>',
  '"><svg onload=window.owned=true>',
  'javascript:window.owned=true',
  '{{constructor.constructor("window.owned=true")()}}',
  '__proto__',
  'constructor',
  `safe${RLO}exe.txt`,
  'null\u0000bell\u0007escape\u001b[31mred',
  'zero\u200bwidth\ufeff\u2066isolate',
  'line\u2028separator\nand feed',
  '\ud800 a lone surrogate',
  'Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308'.repeat(20),
  '漢字 עברית العربية 👩‍💻',
  'w'.repeat(100_000),
];

function eventsWith(text: string, number: number) {
  const time = Date.now() - 1_000;
  const run = `${number} ${text}`;
  return [
    runStarted(run, time),
    { type: 'call.waiting', time, run, call: text, seq: 1, tool: text },
    callRefused(run, 1, text, time + 5, { call: text, code: text, message: text, stage: text, phase: text }),
    runEnded(run, time + 9, { reason: text, phase: 'REJECTED' }),
  ];
}

/** All elements that the page is made of, by what they are called. */
function madeOf(page: Page) {
  return page.evaluate(() => [
    ...new Set([...document.querySelectorAll('*')].map(({ localName }) => localName)),
  ]);
}

describePage('the page with hostile names', (start) => {
  test('shows runs, tools, codes, messages and reasons as the text that they are', async () => {
    const inspector = await start();
    await inspector.send(HOSTILE.flatMap(eventsWith), '<u onclick=window.owned=true>source</u>');
    const page = await inspector.open();
    await page.getByText(`${HOSTILE.length} runs`).waitFor();

    for (const number of HOSTILE.keys()) {
      const { run, call, details } = viewOf(page);
      await run(new RegExp(`^${number} `)).click();
      await page.getByRole('heading', { name: new RegExp(`^${number} `) }).waitFor();
      await call(/./).first().click();
      await details.getByText('Refused:').waitFor();
    }

    expect(await page.evaluate(() => 'owned' in window)).toBe(false);
    expect(
      await page.evaluate(() => document.querySelectorAll('[onerror], [onload], [onclick]').length),
    ).toBe(0);
    // Nothing that loads, runs, leads or sends.
    const elements = await madeOf(page);
    for (const name of ['img', 'iframe', 'a', 'object', 'embed', 'form', 'style', 'u', 'foreignobject']) {
      expect(elements).not.toContain(name);
    }
    expect(await page.evaluate(() => document.scripts.length)).toBe(1);
  });

  test('writes out what nobody sees, keeps the direction of text, and cuts what is very long', async () => {
    const inspector = await start();
    await inspector.send([`safe${RLO}exe.txt`, 'w'.repeat(100_000), '👩‍💻'].flatMap(eventsWith));
    const page = await inspector.open();
    const { run } = viewOf(page);

    const override = run(/^0 safe/);
    expect(await override.locator('.name').textContent()).toBe('0 safe‹U+202E›exe.txt');
    expect(await override.locator('bdi').first().getAttribute('title')).toBe('0 safe‹U+202E›exe.txt');
    expect(await page.evaluate(() => document.body.innerHTML.includes('\u202e'))).toBe(false);

    const long = run(/^1 w/);
    expect((await long.textContent())?.length).toBeLessThan(1_000);
    expect((await long.locator('bdi').first().getAttribute('title'))?.length).toBeGreaterThan(400);
    const box = await long.boundingBox();
    expect(box?.width).toBeLessThan(400);
    expect(box?.height).toBeLessThan(70);

    expect(await run(/^2 /).locator('.name').textContent()).toBe('2 👩‍💻');
  });
});

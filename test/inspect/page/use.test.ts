import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { callEvents, callRefused, runStarted } from './events.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

const NOW = Date.now();
const EVENTS = [
  runStarted('older', NOW - 5_000),
  runStarted('newer', NOW),
  ...callEvents('newer', 1, 'search', NOW),
  ...callEvents('newer', 2, 'read_file', NOW + 20),
  callRefused('newer', 3, 'write_file', NOW + 40),
];

/** What axe-core finds, as rules and elements. It is run beside the page, which lets no other script in. */
async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const axe = (window as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }).axe;
    interface Violation {
      id: string;
      nodes: { html: string }[];
    }
    const { violations } = await axe.run();
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  });
}

function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}

describePage('the page for all who use it', (start) => {
  test.each(['light', 'dark'] as const)('in %s, axe-core finds no fault', async (colorScheme) => {
    const inspector = await start();
    const page = await inspector.open({ colorScheme, reducedMotion: 'reduce' });
    await page.getByRole('heading', { name: 'Waiting for the first run' }).waitFor();
    expect(await faultsOf(page)).toEqual([]);

    await inspector.send(EVENTS, 'agent', 3);
    await viewOf(page)
      .call(/^write_file/)
      .waitFor();
    await viewOf(page).chart.waitFor();
    expect(await faultsOf(page)).toEqual([]);

    await page.keyboard.press('Home');
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    expect(await faultsOf(page)).toEqual([]);
  });

  test('colours follow the system, until someone chooses; a reload keeps the choice', async () => {
    const inspector = await start();
    const page = await inspector.open({ colorScheme: 'dark' });
    const toggle = page.getByRole('button', { name: /^Colours/ });
    const dark = await background(page);
    await page.emulateMedia({ colorScheme: 'light' });
    const light = await background(page);
    expect(light).not.toBe(dark);

    await toggle.click();
    await toggle.click();
    expect(await background(page)).toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
    expect(await background(page)).toBe(dark);
    await page.keyboard.press('t');
    expect(await background(page)).toBe(light);
  });

  test('everything is done by keyboard alone', async () => {
    const inspector = await start();
    await inspector.send(EVENTS);
    const page = await inspector.open();
    const { runs, calls, call, details } = viewOf(page);
    await call(/^write_file/).waitFor();
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? '');

    await press('/');
    expect(await focused()).toMatch(/^Find runs/);
    await page.keyboard.type('older');
    await page.getByText('1 of 2 runs').waitFor();
    await press('Tab', 'Tab', 'Tab', 'Tab');
    expect(await focused()).toBe('Runs');
    await press('ArrowDown', 'Enter');
    await page.getByRole('heading', { name: 'older', exact: true }).waitFor();

    await press('/', 'Control+A', 'Delete', 'Tab', 'Tab', 'Tab', 'Tab', 'Home', 'Enter');
    await page.getByRole('heading', { name: 'newer', exact: true }).waitFor();
    expect(await runs.getByRole('option', { selected: true }).locator('.hidden').textContent()).toMatch(
      /^newer:/,
    );
    expect(await runs.getAttribute('aria-activedescendant')).toBe(
      await runs.getByRole('option', { selected: true }).getAttribute('id'),
    );

    for (let tabs = 0; (await focused()) !== 'Calls' && tabs < 30; tabs += 1) await press('Tab');
    expect(await focused()).toBe('Calls');
    expect(await calls.evaluate((list) => getComputedStyle(list).outlineStyle)).toBe('solid');
    await press('Home', 'ArrowDown');
    await details.getByRole('heading', { name: 'read_file' }).waitFor();
    await press('ArrowLeft', 'ArrowLeft');
    await page.getByText('10 of 12').waitFor();

    await press('?');
    await page.getByRole('dialog').waitFor();
    await press('Escape');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await focused()).toBe('Calls');
  });

  test('at the width of a phone there is one column, nothing is cut off, and all can be touched', async () => {
    const inspector = await start();
    await inspector.send(EVENTS, 'agent', 3);
    const page = await inspector.open({
      viewport: { width: 375, height: 812 },
      hasTouch: true,
      isMobile: true,
    });
    const { run, chart, button } = viewOf(page);
    const widest = () => page.evaluate(() => document.documentElement.scrollWidth);
    const small = () =>
      page.evaluate(() =>
        [...document.querySelectorAll('button, summary, input, select, [role=option]')]
          .map((element) => ({
            name: element.ariaLabel ?? element.textContent,
            box: element.getBoundingClientRect(),
          }))
          .filter(({ box }) => box.width > 0 && (box.height < 44 || box.width < 44))
          .map(({ name, box }) => `${name}: ${box.width} × ${box.height}`),
      );

    await run(/^newer:/).waitFor();
    expect(await page.getByRole('main').isVisible()).toBe(false);
    expect(await widest()).toBe(375);
    expect(await small()).toEqual([]);

    await run(/^newer:/).tap();
    await chart.waitFor();
    expect(await run(/^newer:/).isVisible()).toBe(false);
    expect(await widest()).toBe(375);
    expect(await small()).toEqual([]);

    await button('All runs').tap();
    await run(/^older:/).waitFor();
  });

  test('nothing moves for those who do not want it', async () => {
    const inspector = await start();
    await inspector.send(EVENTS.slice(0, -1));
    const running = async (reducedMotion: 'reduce' | 'no-preference') => {
      const page = await inspector.open({ reducedMotion });
      await viewOf(page).chart.waitFor();
      return page.evaluate(() => document.getAnimations().length);
    };

    expect(await running('no-preference')).toBeGreaterThan(0);
    expect(await running('reduce')).toBe(0);
  });

  test('the timeline shows less and more time, and other times, by keyboard and by wheel', async () => {
    const inspector = await start();
    await inspector.send(EVENTS);
    const page = await inspector.open();
    const { call } = viewOf(page);
    const bar = call(/^read_file/).locator('.ran');
    const at = async () => (await bar.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
    await bar.waitFor();
    const whole = await at();

    await page.keyboard.press('+');
    await expect.poll(async () => (await at()).width).toBeCloseTo(2 * whole.width, 0);
    const near = await at();
    await page.keyboard.press('<');
    await expect.poll(async () => (await at()).x).toBeGreaterThan(near.x);
    await page.keyboard.press('0');
    await expect.poll(at).toEqual(whole);

    // What is under the pointer stays there.
    await page.mouse.move(whole.x, whole.y + 5);
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -100);
    await expect.poll(async () => (await at()).width).toBeCloseTo(1.2 * whole.width, 0);
    expect((await at()).x).toBeCloseTo(whole.x, 0);
  });
});

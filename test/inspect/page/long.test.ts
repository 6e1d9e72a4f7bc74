import { expect, test } from 'vitest';
import { callEvents, callRefused, runEnded, runStarted } from './events.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

const HOUR_AGO = Date.now() - 3_600_000;
// What a page takes in all, whatever there is to show.
const MOST_ELEMENTS = 1_500;

describePage('the page with much to show', (start) => {
  test('ten thousand runs: the list scrolls to the last, filters, and holds few elements', async () => {
    const inspector = await start();
    const runs = Array.from({ length: 10_000 }, (_, number) => {
      const run = `run-${number}`;
      const time = HOUR_AGO + number * 100;
      const refused = number % 1_000 === 500 ? [callRefused(run, 2, 'search', time + 20)] : [];
      return [
        runStarted(run, time),
        ...callEvents(run, 1, 'search', time),
        ...refused,
        runEnded(run, time + 30),
      ];
    });
    await inspector.send(runs.flat());
    const page = await inspector.open();
    const { runs: list, run } = viewOf(page);
    const elements = () => page.evaluate(() => document.querySelectorAll('*').length);

    await page.getByText('10,000 runs').waitFor();
    expect(await list.getByRole('option').first().getAttribute('aria-setsize')).toBe('10000');
    await run(/^run-9999:/).waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);

    await list.focus();
    await page.keyboard.press('End');
    await run(/^run-0:/).waitFor();
    expect(await run(/^run-9999:/).count()).toBe(0);
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'run-0', exact: true }).waitFor();

    await page.getByRole('button', { name: 'Refused', exact: true }).click();
    await page.getByText('10 of 10,000 runs').waitFor();
    await page.getByRole('searchbox').fill('run-45');
    await page.getByText('1 of 10,000 runs').waitFor();
    expect(await list.getByRole('option').allTextContents()).toEqual([expect.stringContaining('run-4500')]);
  });

  test('a run of 5,000 calls: each is found in the timeline, and any moment by the scrubber', async () => {
    const inspector = await start();
    const calls = Array.from({ length: 5_000 }, (_, number) =>
      callEvents('long', number + 1, `tool_${number + 1}`, HOUR_AGO + number * 50),
    );
    await inspector.send([runStarted('long', HOUR_AGO, { maxSteps: null }), ...calls.flat()]);
    const page = await inspector.open();
    const { calls: list, call, slider, head } = viewOf(page);
    const elements = () => page.evaluate(() => document.querySelectorAll('*').length);

    await page.getByText('25,001 of 25,001').waitFor();
    await call(/^tool_5000, 10 ms/).waitFor();
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);

    await list.focus();
    await page.keyboard.press('Home');
    await call(/^tool_1, 10 ms/).waitFor();
    expect(await call(/^tool_5000,/).count()).toBe(0);

    // Of the call in the middle: the event that tells of its end, which its row has to tell as well.
    await slider.fill(String(2_499 * 5 + 5));
    await page.getByText('12,501 of 25,001').waitFor();
    expect(await head.textContent()).toContain('Steps 2500 without limit');
    await page.getByRole('button', { name: 'Follow the cursor' }).click();
    await call(/^tool_2500, 10 ms/).waitFor();
    expect(
      await call(/^tool_2501,/)
        .locator('.hidden')
        .textContent(),
    ).toBe('tool_2501, to come');
    expect(await elements()).toBeLessThan(MOST_ELEMENTS);
  });
});

import type { Page } from 'playwright-core';

/** What a reader of the page finds, by what it is called. */
export function viewOf(page: Page) {
  const runs = page.getByRole('listbox', { name: 'Runs' });
  const calls = page.getByRole('listbox', { name: 'Calls' });
  return {
    runs,
    run: (name: string | RegExp) => runs.getByRole('option', { name }),
    calls,
    call: (name: string | RegExp) => calls.getByRole('option', { name }),
    chart: page.getByLabel('Statechart').getByRole('img'),
    slider: page.getByRole('slider', { name: 'Event' }),
    details: page.getByRole('region', { name: 'Details' }),
    head: page.getByRole('main').locator('.run-head'),
    button: (name: string | RegExp) => page.getByRole('button', { name }),
  };
}

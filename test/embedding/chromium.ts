import { existsSync } from 'node:fs';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe } from 'vitest';

const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const HERE = existsSync(EXECUTABLE);

/** How a page is opened, in a browser that knows of no other. */
export interface PageOptions extends BrowserContextOptions {
  /** What the page begins as; without it, it is empty. */
  readonly html?: string;
}

/** Tests that need a real browser. They are skipped, and say so, only where there is none. */
export function describeInBrowser(
  name: string,
  tests: (openPage: (options: PageOptions) => Promise<Page>) => void,
): void {
  const title = HERE
    ? name
    : `${name} (skipped: there is no ${EXECUTABLE}; install chromium, or set CHROMIUM)`;
  describe.skipIf(!HERE)(title, { timeout: 120_000 }, () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await chromium.launch({
        executablePath: EXECUTABLE,
        args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
      });
    }, 120_000);
    afterAll(() => browser.close());

    tests(async ({ html, ...options }) => {
      const page = await browser.newPage(options);
      if (html !== undefined) await page.setContent(html);
      return page;
    });
  });
}

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterEach, expect } from 'vitest';
import { buildPage } from '../../../scripts/build/page.mjs';
import { newToken } from '../../../src/inspect/access.ts';
import { type PageFiles, readPage } from '../../../src/inspect/page-files.ts';
import { type InspectServer, serve } from '../../../src/inspect/server.ts';
import { RunStore } from '../../../src/inspect/store.ts';
import { describeInBrowser, type PageOptions } from '../../embedding/chromium.ts';

const MEGABYTE = 2 ** 20;
const AT_ONCE = 5_000;

/** What a server is started with. */
export interface InspectorOptions {
  /** How many bytes of runs it keeps. */
  readonly keep?: number;
  readonly port?: number;
  readonly token?: string;
  /** Whether the page will have faults to tell of. */
  readonly faulty?: boolean;
}

/** A server of the inspector, the real one, and pages of it. */
export interface Inspector {
  readonly url: string;
  readonly port: number;
  readonly token: string;
  /** Sends events as a process does. */
  send(events: readonly object[], source?: string, dropped?: number): Promise<void>;
  /** Opens the page, or another address of it. */
  open(options?: PageOptions & { readonly hash?: string }): Promise<Page>;
  close(): Promise<void>;
}

/**
 * Tests of the page in a real browser. No page may say an error, break the content security policy, or ask anything of
 * another server.
 */
export function describePage(
  name: string,
  tests: (start: (options?: InspectorOptions) => Promise<Inspector>) => void,
): void {
  describeInBrowser(name, (openPage) => {
    const opened: { readonly page: Page; readonly faults: string[]; readonly expected: boolean }[] = [];
    const servers: InspectServer[] = [];
    afterEach(async () => {
      const pages = opened.splice(0);
      await Promise.all(pages.map(({ page }) => page.context().close()));
      await Promise.all(servers.splice(0).map((server) => server.close()));
      expect(pages.flatMap(({ faults, expected }) => (expected ? [] : faults))).toEqual([]);
    });

    tests(async ({ keep = 256 * MEGABYTE, port = 0, token = newToken(), faulty = false } = {}) => {
      const store = new RunStore(keep);
      const server = await serve({
        store,
        page: await pageFiles(),
        port,
        token,
        title: 'test',
        live: true,
      });
      servers.push(server);
      const numbers = new Map<string, number>();
      return {
        url: server.url,
        port: server.port,
        token,
        async send(events, source = 'agent', dropped = 0) {
          for (let at = 0; at < events.length; at += AT_ONCE) {
            const some = events.slice(at, at + AT_ONCE);
            const first = (numbers.get(source) ?? 0) + (at === 0 ? dropped : 0);
            const head = { version: 1, source, name: source, first, dropped };
            const body = [head, ...some].map((line) => JSON.stringify(line)).join('\n');
            const answer = await fetch(server.url.replace('/?', '/ingest?'), { method: 'POST', body });
            expect(await answer.json()).toEqual({ next: first + some.length });
            numbers.set(source, first + some.length);
          }
        },
        async open({ hash = '', ...options } = {}) {
          const page = await openPage({ viewport: { width: 1440, height: 900 }, ...options });
          const faults: string[] = [];
          opened.push({ page, faults, expected: faulty });
          page.on('pageerror', (error) => faults.push(String(error)));
          page.on('console', (message) => {
            if (['error', 'warning'].includes(message.type())) faults.push(message.text());
          });
          page.on('request', (request) => {
            if (new URL(request.url()).port !== String(server.port))
              faults.push(`asked for ${request.url()}`);
          });
          await page.goto(server.url + hash);
          return page;
        },
        close: () => server.close(),
      };
    });
  });
}

let files: Promise<PageFiles> | undefined;

/** The page as the source has it now, built as it is for the package. */
function pageFiles(): Promise<PageFiles> {
  files ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'phasegate-page-'));
    await buildPage(folder);
    return readPage(folder);
  })();
  return files;
}

import { mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';
import { describeInBrowser } from './chromium.ts';
import { blockWith, bundle, ROOT } from './docs.ts';

const COMPONENT = blockWith('export function AgentRun');
const MOUNT = new URL('./mount.ts', import.meta.url).pathname;
const PAGE = `${COMPONENT}
import { mount } from ${JSON.stringify(MOUNT)};
mount(AgentRun);
`;

describe('the component of docs/embedding.md', () => {
  test('has no error that a strict compiler sees', { timeout: 120_000 }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'phasegate-react-'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    const file = join(folder, 'agent-run.tsx');
    writeFileSync(file, COMPONENT);
    const program = ts.createProgram([file], {
      target: ts.ScriptTarget.ES2022,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      jsx: ts.JsxEmit.ReactJSX,
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: [],
      paths: { phasegate: [join(ROOT, 'src/index.ts')] },
    });
    const source = program.getSourceFile(file);

    const faults = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];

    expect(source).toBeDefined();
    expect(faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
  });
});

describeInBrowser('the component of docs/embedding.md in a browser', (openPage) => {
  async function open() {
    const { outputFiles } = await bundle(PAGE, {
      platform: 'browser',
      define: { 'process.env.NODE_ENV': '"development"' },
      write: false,
    });
    const page = await openPage({ html: '<!doctype html><title>run</title><body></body>' });
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(String(error)));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) faults.push(message.text());
    });
    await page.addScriptTag({ content: outputFiles?.[0]?.text ?? '', type: 'module' });
    await page.getByLabel('Agent run').waitFor();
    return { page, faults };
  }

  const press = (page: Page, name: string) => page.getByRole('button', { name }).click();
  const can = (page: Page, name: string) => page.getByRole('button', { name }).isEnabled();
  const shown = async (page: Page) => ({
    phase: await page.getByLabel('Phase').textContent(),
    steps: await page.getByLabel('Steps').getAttribute('value'),
    status: await page.locator('p').textContent(),
  });

  test('goes through a run, up to the budget, and says why no call is legal any more', async () => {
    const { page, faults } = await open();
    expect(await shown(page)).toEqual({ phase: 'IDLE', steps: '0', status: '3 calls left' });
    expect(await can(page, 'It returned')).toBe(false);

    for (const step of ['1', '2', '3']) {
      await press(page, 'Call a tool');
      expect(await shown(page)).toMatchObject({ phase: 'ACTING' });
      await press(page, 'It returned');
      expect(await shown(page)).toMatchObject({ phase: 'OBSERVING', steps: step });
    }

    expect(await shown(page)).toMatchObject({ status: 'Step budget exhausted: 3/3' });
    expect(await can(page, 'Call a tool')).toBe(false);
    await press(page, 'Finish');
    expect(await shown(page)).toMatchObject({ phase: 'ANSWERING' });
    expect(await can(page, 'Finish')).toBe(false);
    expect(faults).toEqual([]);
  });

  test('holds a failing tool to the loop budget', async () => {
    const { page, faults } = await open();

    for (const _ of ['the call', 'its only retry']) {
      await press(page, 'Call a tool');
      await press(page, 'It failed');
    }

    expect(await shown(page)).toEqual({
      phase: 'ACTING',
      steps: '0',
      status: 'Loop budget exhausted in ACTING: 1/1',
    });
    expect(await can(page, 'Call a tool')).toBe(false);
    expect(faults).toEqual([]);
  });
});

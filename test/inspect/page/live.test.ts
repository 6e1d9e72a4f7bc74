import { expect, test } from 'vitest';
import { createEnforcement, createSupervisor } from '../../../src/index.ts';
import { inspectTo } from '../../../src/inspect/index.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

/** A tool that ends when it is told to. */
function held() {
  let end = () => {};
  const body = () => new Promise<void>((resolve) => (end = resolve));
  return { body, end: () => end() };
}

describePage('the page while a run goes on', (start) => {
  test('shows the call that runs, its end, a refusal with its reason, and the end of the run', async () => {
    const inspector = await start();
    const page = await inspector.open();
    const { chart, run, call, details, head } = viewOf(page);
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
    const observer = inspectTo(inspector.url, { name: 'the agent' });
    enforcement.on(observer);
    const { body, end } = held();
    const search = enforcement.tool('search', body);
    const pause = held();
    const agent = enforcement.withRun(
      async () => {
        await search();
        await search().catch(() => {});
        await pause.body();
      },
      { id: 'live-run' },
    );

    await run(/^live-run: live, in ACTING, 0\/1 steps/).waitFor();
    await call('search, running').waitFor();
    expect(await chart.getAttribute('aria-label')).toBe(
      'The run is in ACTING. The latest way: IDLE, PLANNING, ACTING.',
    );
    expect(await details.textContent()).toContain('Admitted, and running');
    expect(await head.textContent()).toContain('the agent');

    end();
    await call('search, step-budget · Step budget exhausted: 1/1').waitFor();
    await run(/^live-run: live, in OBSERVING, 1\/1 steps, 1 refused/).waitFor();
    expect(await details.textContent()).toMatch(/Refused: ?step-budget.*Step budget exhausted: 1\/1/);
    expect(await head.textContent()).toContain('Steps 1 of 1 · spent');
    expect(
      await call(/^search/)
        .first()
        .locator('.hidden')
        .textContent(),
    ).toMatch(/^search, [\d.]+ m?s$/);

    pause.end();
    await agent;
    await run(/^live-run: ended, 1\/1 steps, 1 refused/).waitFor();
    expect(await chart.getAttribute('aria-label')).toContain('The run is in ANSWERING.');
    expect(observer.dropped).toBe(0);
  });

  test('shows calls that wait, nested calls and child runs where they lie', async () => {
    const inspector = await start();
    const page = await inspector.open();
    const { call, calls, run, details, button } = viewOf(page);
    const enforcement = createEnforcement();
    enforcement.on(inspectTo(inspector.url));
    const first = held();
    const inner = enforcement.tool('inner', () => {});
    const outer = enforcement.tool('outer', () => inner());
    const research = enforcement.tool('research', () =>
      enforcement.withRun(() => outer(), { id: 'researcher' }),
    );
    const hold = enforcement.tool('hold', first.body);
    const agent = enforcement.withRun(() => Promise.all([hold(), research()]), { id: 'lead' });

    await call('research, waits').waitFor();
    first.end();
    await agent;
    await run(/^lead: ended/).waitFor();

    const words = await calls
      .getByRole('option')
      .evaluateAll((rows) =>
        rows.map((row) => [
          getComputedStyle(row).getPropertyValue('--indent'),
          row.querySelector('.hidden')?.textContent?.replace(/[\d.]+ m?s/g, 'TIME'),
        ]),
      );
    expect(words).toEqual([
      ['0', 'hold, TIME'],
      ['0', 'research, TIME · waited TIME'],
      ['1', 'Child run researcher, ended'],
      ['2', 'outer, TIME'],
      ['3', 'inner, inside of outer, TIME'],
    ]);
    expect(await run(/researcher: .*child run$/).count()).toBe(1);

    await call('Child run researcher, ended').click();
    await details.getByText('Child run, ended').waitFor();
    await button('Open researcher').click();
    await page.getByRole('heading', { name: 'researcher', exact: true }).waitFor();
    await button('child of lead').click();
    await page.getByRole('heading', { name: 'lead', exact: true }).waitFor();
  });

  test('draws the table of the run itself, with its own phases', async () => {
    const inspector = await start();
    const page = await inspector.open();
    const { chart, run } = viewOf(page);
    const supervisor = createSupervisor({ phases: ['REVIEWING'] });
    supervisor.removeTransition('OBSERVING', 'PLANNING');
    supervisor.addTransition('OBSERVING', 'REVIEWING');
    supervisor.addTransition('REVIEWING', 'PLANNING');
    const enforcement = createEnforcement({ supervisor });
    enforcement.on(inspectTo(inspector.url));
    const search = enforcement.tool('search', () => {});
    const pause = held();
    const agent = enforcement.withRun(async () => {
      await search();
      await search();
      await pause.body();
    });

    await run(/in OBSERVING, 2\/50 steps/).waitFor();
    await chart.waitFor();
    expect(await chart.locator('.phase > text').allTextContents()).toContain('REVIEWING');
    expect(await chart.locator('.phase.present > text').allTextContents()).toEqual(['OBSERVING']);
    expect((await chart.locator('.phase.visited > text').allTextContents()).sort()).toEqual([
      'ACTING',
      'IDLE',
      'OBSERVING',
      'PLANNING',
      'REVIEWING',
    ]);
    expect(await chart.getAttribute('aria-label')).toContain(
      'The latest way: OBSERVING, REVIEWING, PLANNING, ACTING, OBSERVING.',
    );
    expect(await chart.locator('.trace').count()).toBe(4);
    pause.end();
    await agent;
  });

  test('a run that was saved goes on in its row, and the calls that it lost say so', async () => {
    const inspector = await start();
    const page = await inspector.open();
    const { runs, run, call, chart } = viewOf(page);
    const observer = inspectTo(inspector.url);
    const here = createEnforcement();
    here.on(observer);
    const begun = here.beginRun({ id: 'saved' });
    begun.admit('search');
    await call('search, running').waitFor();

    const elsewhere = createEnforcement();
    elsewhere.on(observer);
    const resumed = elsewhere.resumeRun(JSON.parse(JSON.stringify(begun.save())), { inFlight: 'interrupt' });
    await resumed.callTool('read_file', 'README.md', () => {});

    await run(/^saved: live, in OBSERVING, 2\/50 steps/).waitFor();
    await call('search, interrupted').waitFor();
    await call(/^read_file, [\d.]+ m?s$/).waitFor();
    expect(await runs.getByRole('option').count()).toBe(1);
    expect(await chart.getAttribute('aria-label')).toContain('The run is in OBSERVING.');
    resumed.finish();
  });
});

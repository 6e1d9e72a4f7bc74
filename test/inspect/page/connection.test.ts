import { expect, test } from 'vitest';
import { callEvents, runEnded, runStarted } from './events.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

const NOW = Date.now();

describePage('the connection of the page', (start) => {
  test('before the first run the page says how to stream to it, and shows that run by itself', async () => {
    const inspector = await start();
    const page = await inspector.open();

    await page.getByRole('heading', { name: 'Waiting for the first run', exact: true }).waitFor();
    expect(await page.locator('pre').textContent()).toContain(
      `enforcement.on(inspectTo('${inspector.url}'));`,
    );

    await inspector.send([runStarted('first', NOW)]);
    await page.getByRole('heading', { name: 'first', exact: true }).waitFor();
    expect(page.url()).toMatch(/#run=/);
  });

  test('a reload keeps the chosen run, and so does the way back', async () => {
    const inspector = await start();
    await inspector.send([runStarted('one', NOW), runStarted('two', NOW + 1), runStarted('three', NOW + 2)]);
    const page = await inspector.open();
    const { run } = viewOf(page);
    await run(/^two:/).click();
    await page.getByRole('heading', { name: 'two', exact: true }).waitFor();
    await run(/^one:/).click();
    await page.getByRole('heading', { name: 'one', exact: true }).waitFor();

    await page.reload();
    await page.getByRole('heading', { name: 'one', exact: true }).waitFor();
    await page.goBack();
    await page.getByRole('heading', { name: 'two', exact: true }).waitFor();
  });

  test('a lost connection is told, and all that came meanwhile is there when it is back', async () => {
    const inspector = await start({ faulty: true });
    await inspector.send([
      runStarted('older', NOW - 5),
      runStarted('before', NOW),
      ...callEvents('before', 1, 'search', NOW),
    ]);
    const page = await inspector.open();
    const { runs, run, call } = viewOf(page);
    await call(/^search/).waitFor();

    await page.context().setOffline(true);
    await inspector.close();
    await page.getByText('Connection lost, trying again').waitFor();
    expect(await call(/^search/).count()).toBe(1);

    // A new server on the same port knows other runs: nothing of the old ones may stay.
    const next = await start({ port: inspector.port, token: inspector.token });
    await next.send([
      runStarted('after', NOW + 5),
      ...callEvents('after', 1, 'read_file', NOW + 6),
      // Its key is the one that the chosen run had.
      runStarted('another', NOW - 50),
    ]);
    await page.context().setOffline(false);
    await run(/^after:/).waitFor();
    await call(/^read_file/).waitFor();
    await page.getByRole('heading', { name: 'after', exact: true }).waitFor();
    expect(await runs.getByRole('option').count()).toBe(2);
    expect(await page.getByText('Connection lost').count()).toBe(0);
  });

  test('a run that the server lets go is told to be so, and so are events that were dropped', async () => {
    const inspector = await start({ keep: 40_000 });
    await inspector.send([
      runStarted('old', NOW),
      ...callEvents('old', 1, 'search', NOW),
      runEnded('old', NOW + 20),
    ]);
    const page = await inspector.open();
    await page.getByRole('heading', { name: 'old', exact: true }).waitFor();
    expect(await page.locator('.notice').count()).toBe(0);

    const calls = Array.from({ length: 60 }, (_, number) =>
      callEvents('new', number + 1, 'search', NOW + number),
    );
    await inspector.send([runStarted('new', NOW + 30), ...calls.flat()], 'agent', 7);

    await page.getByText('the server keeps this run no longer').waitFor();
    const notice = page.locator('.notice');
    await notice.getByText('7 events dropped').waitFor();
    await notice.locator('summary').click();
    await notice.getByText('agent lost 7 events before they came here').waitFor();

    await page.reload();
    await page.getByRole('heading', { name: 'This run is not kept any more', exact: true }).waitFor();
  });

  test('an address without the token of the server opens nothing, and the page says where the right one is', async () => {
    const inspector = await start({ faulty: true });
    await inspector.send([runStarted('private', NOW)]);
    const page = await inspector.open();
    await page.getByRole('heading', { name: 'private', exact: true }).waitFor();

    await page.goto(`http://127.0.0.1:${inspector.port}/`);
    await page.getByRole('heading', { name: 'This address opens nothing' }).waitFor();
    await page.getByText('use the address that phasegate inspect has printed').waitFor();
    expect(await page.getByText('private').count()).toBe(0);
    expect(await page.getByText('Asking for the runs').count()).toBe(0);
  });
});

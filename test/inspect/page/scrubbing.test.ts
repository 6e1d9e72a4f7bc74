import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { createEnforcement, createSupervisor, type PhasegateEvent } from '../../../src/index.ts';
import { type RunFrame, RunModel } from '../../../src/inspect/run-model.ts';
import { describePage } from './inspector.ts';
import { viewOf } from './view.ts';

/** All that there is in a run: refusals, failures, calls that wait, calls inside calls, a child run. */
async function eventsOfARun(): Promise<PhasegateEvent[]> {
  const events: PhasegateEvent[] = [];
  const supervisor = createSupervisor({ maxSteps: 7, maxLoopsPerPhase: 1 });
  const enforcement = createEnforcement({ supervisor });
  enforcement.on((event) => events.push(event));
  const read = enforcement.tool('read', () => {});
  const fail = enforcement.tool('fail', () => Promise.reject(new Error('no')));
  const nest = enforcement.tool('nest', async () => {
    await read();
    await read().catch(() => {});
  });
  const child = enforcement.tool('child', () => enforcement.withRun(() => read(), { id: 'child' }));
  const quietly = (call: Promise<unknown>) => call.catch(() => {});
  await enforcement.withRun(
    async () => {
      await Promise.all([read(), read()]);
      await quietly(fail());
      await quietly(fail());
      await quietly(fail());
    },
    { id: 'failing' },
  );
  await enforcement.withRun(
    async () => {
      await nest();
      await child();
      await Promise.all([read(), read(), quietly(read()), quietly(read())]);
    },
    { id: 'whole' },
  );
  return events.filter(({ run }) => run !== 'failing');
}

/** What the page shows of the run. */
function shown(page: Page) {
  return page.evaluate(() => {
    const text = (selector: string) => document.querySelector(selector)?.textContent ?? '';
    const budgets = [...document.querySelectorAll('.budget b')].map((used) => Number(used.textContent));
    return {
      phase: /^The run is in (\w+)\./.exec(document.querySelector('.chart svg')?.ariaLabel ?? '')?.[1],
      stepCount: budgets[0],
      loopCount: budgets[1],
      refused: Number(/(\d+) refused/.exec(text('.run-head'))?.[1] ?? 0),
      failed: Number(/(\d+) failed/.exec(text('.run-head'))?.[1] ?? 0),
      inFlight: Number(/(\d+) calls? in flight/.exec(text('.run-head'))?.[1] ?? 0),
      waiting: Number(/(\d+) calls? waiting/.exec(text('.run-head'))?.[1] ?? 0),
      calls: [...document.querySelectorAll('.calls .row:not(.child-run)')].map((row) => row.classList[1]),
    };
  });
}

const KINDS = {
  waiting: 'waiting',
  'in-flight': 'running',
  ended: 'ran',
  failed: 'failed',
  refused: 'refused',
};

/** The same, from the events up to that one. */
function folded(events: readonly PhasegateEvent[], index: number) {
  const model = new RunModel();
  model.append(events);
  const until = new RunModel();
  until.append(events.slice(0, index + 1));
  const [root, child] = model.runs;
  const now = until.runs[0]?.now as RunFrame;
  const { phase, stepCount, loopCount, refused, failed, inFlight, waiting } = now;
  const inChild = child?.calls ?? [];
  const all = (root?.calls ?? []).flatMap((call) =>
    call.tool === 'child' ? [call, ...inChild] : call.parent === null || call.tool === 'read' ? [call] : [],
  );
  const calls = all.map((call) => KINDS[call.stateAt(index) as keyof typeof KINDS] ?? 'to-come');
  return { phase, stepCount, loopCount, refused, failed, inFlight, waiting, calls };
}

describePage('the scrubber of the page', (start) => {
  test('shows after each event, forwards and backwards, what the events up to it amount to', async () => {
    const events = await eventsOfARun();
    const inspector = await start();
    await inspector.send(events);
    const page = await inspector.open();
    const { chart } = viewOf(page);
    await page.getByText(`${events.length} of ${events.length}`).waitFor();
    await chart.waitFor();
    expect(events.length).toBeGreaterThan(30);

    await page.keyboard.press('Home');
    for (let index = 0; index < events.length; index += 1) {
      expect({ index, ...(await shown(page)) }).toEqual({ index, ...folded(events, index) });
      await page.keyboard.press('ArrowRight');
    }
    for (let index = events.length - 1; index >= 0; index -= 1) {
      expect({ index, ...(await shown(page)) }).toEqual({ index, ...folded(events, index) });
      await page.keyboard.press('ArrowLeft');
    }
  });

  test('plays a run, pauses, and goes with a live run again when asked to', async () => {
    const events = await eventsOfARun();
    const inspector = await start();
    const many = events.length - 1;
    await inspector.send(events.slice(0, many));
    const page = await inspector.open();
    const { slider, button } = viewOf(page);
    await page.getByText(`${many} of ${many}`).waitFor();

    await page.keyboard.press('Home');
    await page.keyboard.press('Space');
    await expect.poll(async () => Number(await slider.inputValue())).toBeGreaterThan(1);
    await button('Pause').click();
    const paused = await slider.inputValue();
    await inspector.send(events.slice(many));
    await page.getByText(`of ${events.length}`).waitFor();
    expect(await slider.inputValue()).toBe(paused);

    await button(/^(Follow live|Latest)$/).click();
    await page.getByText(`${events.length} of ${events.length}`).waitFor();
  });
});

import { describe, expect, it } from 'vitest';
import { RunStore, type StoredRun } from '../../src/inspect/store.ts';
import { type TidyEvent, tidyEvent } from '../../src/inspect/tidy-event.ts';
import { eventsOfRun } from './support.ts';

describe('the memory that runs take', () => {
  function storeOf(keep: number) {
    const store = new RunStore(keep);
    const source = store.addSource('test');
    const gone: (string | null)[] = [];
    store.watch({ changed: () => {}, dropped: () => {}, gone: ({ id }: StoredRun) => gone.push(id) });
    return {
      store,
      gone,
      take: (events: readonly object[]) => {
        for (const event of events) store.take(source, event as TidyEvent);
      },
      runs: () => [...store.runs.values()].map(({ id }) => id),
    };
  }

  it('is bounded: the runs that finished first are let go first, and live ones stay', () => {
    const { store, gone, take, runs } = storeOf(20_000);
    take(eventsOfRun('live').slice(0, 2));
    take(eventsOfRun('second').slice(0, 3));
    take(eventsOfRun('first'));
    take(eventsOfRun('second').slice(3));
    for (let i = 0; gone.length < 2; i++) take(eventsOfRun(`later ${i}`));
    expect(gone).toEqual(['first', 'second']);
    expect(runs()[0]).toBe('live');
    expect(store.dropped).toMatchObject({ runsLetGo: 2, eventsLetGo: 8 });
  });

  it('holds a run with its child runs, or neither', () => {
    const { gone, take } = storeOf(20_000);
    take(eventsOfRun('parent').slice(0, 2));
    take(eventsOfRun('child', { parent: 'parent', call: 'c' }));
    take(eventsOfRun('parent').slice(2));
    for (let i = 0; gone.length === 0; i++) take(eventsOfRun(`later ${i}`));
    expect(gone).toEqual(['parent', 'child']);
  });

  it('lets live runs go where there are none else, the oldest first', () => {
    const { gone, take } = storeOf(20_000);
    for (let i = 0; gone.length === 0; i++) take(eventsOfRun(`live ${i}`).slice(0, 2));
    expect(gone).toEqual(['live 0']);
  });

  it('is not enough for a run that is larger than all of it: the rest of that is only counted', () => {
    const { store, take } = storeOf(20_000);
    const [started, ...calls] = eventsOfRun('endless').slice(0, 3);
    take([started as object]);
    for (let i = 0; i < 1_000; i++) take(calls);
    const [run] = store.runs.values();
    expect(run?.summary()).toMatchObject({ stepCount: 1_000, live: true });
    expect(run?.events).toBeLessThan(200);
    expect(store.dropped.eventsLetGo).toBe(2_001 - (run?.events ?? 0));
  });

  it('gives a run that begins again under its old id a place of its own', () => {
    const { take, store } = storeOf(2 ** 20);
    take([...eventsOfRun('r'), ...eventsOfRun('r').slice(0, 2)]);
    expect([...store.runs.values()].map((run) => run.summary().live)).toEqual([false, true]);
  });

  it('has a place for calls that were made outside of any run', () => {
    const { take, store } = storeOf(2 ** 20);
    const call = {
      type: 'call.refused',
      run: null,
      call: null,
      seq: 0,
      tool: 'search',
      code: 'no-active-run',
    };
    take([
      { ...call, message: 'Cannot call search: no agent run is active' },
      { ...call, message: 'Cannot call search: no agent run is active' },
    ]);
    const [run, ...others] = [...store.runs.values()].map((run) => run.summary());
    expect(run).toMatchObject({
      run: null,
      refused: 2,
      lastRefusal: { code: 'no-active-run', tool: 'search' },
    });
    expect(others).toEqual([]);
  });
});

describe('what is kept of an event', () => {
  const event = { type: 'call.started', run: 'r', tool: 'search' };

  it.each([null, 1, 'x', [], {}, { type: 1, run: 'r' }, { type: 'x' }, { type: 'x', run: 7 }])(
    'is nothing of %j, which is none',
    (value) => {
      expect(tidyEvent(value)).toBeUndefined();
    },
  );

  it('is what the page shows, and of that no more than it shows', () => {
    const long = 'x'.repeat(100_000);
    const kept = tidyEvent({ ...event, tool: long, message: long, args: { long }, hash: long });
    expect(Object.keys(kept ?? {})).toEqual(['type', 'run', 'tool', 'message', 'args']);
    expect(JSON.stringify(kept).length).toBeLessThan(21_000);
    expect(kept?.['args']).toMatch(/^\{"long":"x+…$/);
  });

  it('is no value that nests deeper than a stack reaches', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(tidyEvent({ ...event, args: deep })).toEqual({ ...event, args: '…' });
  });
});

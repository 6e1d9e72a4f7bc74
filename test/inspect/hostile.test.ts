import { describe, expect, it } from 'vitest';
import { Senders } from '../../src/inspect/ingest.ts';
import { RunModel } from '../../src/inspect/run-model.ts';
import { RunStore } from '../../src/inspect/store.ts';
import type { TidyEvent } from '../../src/inspect/tidy-event.ts';

const MANY = 50_000;

function storeOf(keep: number) {
  const store = new RunStore(keep);
  const source = store.addSource('hostile');
  const take = (event: object) => store.take(source, event as TidyEvent);
  return { store, take };
}

function times<T>(count: number, make: (number: number) => T): T[] {
  return Array.from({ length: count }, (_, number) => make(number));
}

// Each of these took minutes, or all memory, before it was bounded.
describe('a stream that no agent makes', () => {
  it('nests runs no deeper than somebody looks, and shows the rest beside them', () => {
    const { store, take } = storeOf(2 ** 28);
    for (let i = 0; i < MANY; i++) take({ type: 'run.started', run: `${i}`, parent: `${i - 1}` });
    const runs = [...store.runs.values()];
    expect(runs.length).toBe(MANY);
    expect(Math.max(...runs.map(({ depth }) => depth))).toBe(100);
    expect(runs.filter(({ parent }) => parent === null).length).toBe(Math.ceil(MANY / 101));
  });

  it('of a run that is its own parent is that of runs of one name', () => {
    const { store, take } = storeOf(2 ** 20);
    take({ type: 'run.started', run: 'a', parent: 'a' });
    take({ type: 'run.started', run: 'a', parent: 'a' });
    expect([...store.runs.values()].map((run) => run.summary().parent)).toEqual([null, '1']);
  });

  it('begins child runs without end in bounded memory: the run around them is let go in its turn', () => {
    const { store, take } = storeOf(2 ** 20);
    take({ type: 'run.started', run: 'parent' });
    for (let i = 0; i < MANY; i++) {
      take({ type: 'run.started', run: `${i}`, parent: 'parent' });
      take({ type: 'run.ended', run: `${i}` });
    }
    take({ type: 'call.started', run: 'parent', call: 'c', tool: 'search' });
    expect(store.runs.size).toBeLessThan(400);
    expect([...store.runs.values()].at(-1)?.summary()).toMatchObject({ run: 'parent', inFlight: 1 });
  });

  it('keeps no hops without end', () => {
    const model = new RunModel();
    model.append(
      times(MANY, (i) => ({ type: 'phase.entered', run: 'r', from: `P${i}`, phase: `P${i + 1}` })),
    );
    const hops = model.root?.now.hops ?? [];
    expect(hops.length).toBe(101);
    expect(hops.at(-1)).toBe(`P${MANY}`);
  });

  it('has calls that never end forgotten, the oldest first', () => {
    const model = new RunModel({ history: false });
    model.append(times(2 * MANY, (i) => ({ type: 'call.started', run: 'r', call: `${i}`, seq: i + 1 })));
    expect(model.root?.inFlight('0')).toBeNull();
    expect(model.root?.inFlight(`${2 * MANY - 1}`)).not.toBeNull();
  });

  it('has calls of one id without end forgotten too', () => {
    const model = new RunModel({ history: false });
    for (const type of ['call.waiting', 'call.started', 'call.ended']) {
      model.append(times(MANY, () => ({ type, run: 'r', call: 'same' })));
    }
    expect(model.root?.inFlight('same')).toBeNull();
  });

  it('lost by processes without end is counted, and told in few words', () => {
    const { store } = storeOf(2 ** 20);
    const many = new Senders(store);
    for (let i = 0; i < 3_000; i++) {
      many.take(JSON.stringify({ version: 1, source: `${i}`, name: `${i}`, first: 2 }));
    }
    const { lost } = store.dropped;
    expect(lost.length).toBe(1_001);
    expect(lost.reduce((sum, { events }) => sum + events, 0)).toBe(6_000);
    expect(lost.at(-1)).toEqual({ source: 'Processes that are silent for long', events: 4_000 });
  });

  it('of a text in any script takes as much of the memory as it takes', () => {
    const kept = (letter: string) => {
      const { store, take } = storeOf(2 ** 20);
      for (let i = 0; i < 1_000; i++) {
        take({ type: 'phase.proposed', run: 'r', message: letter.repeat(4_000) });
      }
      return [...store.runs.values()][0]?.events ?? 0;
    };
    expect(kept('x')).toBeGreaterThan(1.9 * kept('漢'));
  });
});

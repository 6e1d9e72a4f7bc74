import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PhasegateEvent } from '../../src/events.ts';
import { inspectTo } from '../../src/inspect/index.ts';
import { serve } from '../../src/inspect/server.ts';
import { RunStore } from '../../src/inspect/store.ts';
import '../seed.ts';
import { startServer, TOKEN } from './support.ts';

const event = { type: 'phase.proposed', run: 'r' } as unknown as PhasegateEvent;

describe('many events at once', { timeout: 60_000 }, () => {
  it('are taken or counted as dropped, each one, and both sides say the same', async () => {
    const step = fc.oneof(
      fc.integer({ min: 1, max: 3_000 }),
      fc.constantFrom('flush' as const, 'send meanwhile' as const),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 2_000 }),
        fc.array(step, { maxLength: 8 }),
        async (maxBuffered, steps) => {
          const store = new RunStore(2 ** 26);
          const server = await serve({
            store,
            page: new Map(),
            port: 0,
            token: TOKEN,
            title: '',
            live: true,
          });
          const observer = inspectTo(server.url, { maxBuffered });
          let told = 0;
          const tell = (events: number) => {
            for (let i = 0; i < events; i++) observer.listen(event);
            told += events;
          };
          for (const one of steps) {
            if (typeof one === 'number') tell(one);
            else if (one === 'flush') await observer.flush();
            else {
              void observer.flush();
              // The batch is on its way, and not there yet.
              await new Promise((resolve) => setImmediate(resolve));
            }
          }
          tell(1);
          await observer.close();
          await server.close();
          const [run] = store.runs.values();
          expect((run?.events ?? 0) + observer.dropped).toBe(told);
          const lost = store.dropped.lost.reduce((sum, { events }) => sum + events, 0);
          expect(lost).toBe(observer.dropped);
        },
      ),
      { numRuns: 50 },
    );
  });

  it('from many enforcements of one process leave one listener, and none when all was taken', async () => {
    const { url } = await startServer();
    const before = process.listenerCount('beforeExit');
    const observers = Array.from({ length: 20 }, () => inspectTo(url));
    for (const observer of observers) observer.listen(event);
    expect(process.listenerCount('beforeExit')).toBe(before + 1);
    await Promise.all(observers.map((observer) => observer.flush()));
    expect(process.listenerCount('beforeExit')).toBe(before);
    await Promise.all(observers.map((observer) => observer.close()));
  });
});

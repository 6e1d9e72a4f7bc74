// A run and its child run in the Stately Inspector, a second from step to step: see docs/stately.md#watch-runs.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createWebSocketInspector } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { createEnforcement } from 'phasegate';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    pause: { type: 'string', default: '1000' },
    'no-open': { type: 'boolean', default: false },
  },
});
const port = Number(values.port);

createInspectorServer({ port, autoOpen: !values['no-open'] });
const inspector = createWebSocketInspector({ url: `ws://localhost:${port}` });
const enforcement = createEnforcement({ inspect: inspector.inspect });
console.log(`watch it at http://localhost:${port} (Ctrl+C ends it)`);

const wait = () => pause(Number(values.pause));
const search = enforcement.tool('search', wait);
const broken = enforcement.tool('broken', async () => {
  await wait();
  throw new Error('no connection');
});
const delegate = enforcement.tool('delegate', async () => {
  await search(); // A nested call.
  await enforcement.withRun(() => search(), { id: 'child' });
});

await enforcement.withRun(
  async () => {
    await wait();
    await broken().catch(() => {});
    await search(); // A retry: a self-loop on ACTING.
    await wait();
    await delegate();
    await wait();
  },
  { id: 'run' },
);
console.log('the run has ended');

// A run of the default machine in the Stately Inspector, a second from event to event: see docs/stately.md#watch-an-actor.
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createWebSocketInspector } from '@statelyai/inspect';
import { createInspectorServer } from '@statelyai/inspect/server';
import { createSupervisor } from 'phasegate';
import { createActor } from 'xstate';

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
const actor = createActor(createSupervisor().machine, { id: 'run', inspect: inspector.inspect });
console.log(`watch it at http://localhost:${port} (Ctrl+C ends it)`);

actor.start();
for (const type of [
  'propose.PLANNING',
  'call.start',
  'call.fail',
  'call.start', // A retry: a self-loop on ACTING.
  'call.succeed',
  'propose.ACTING', // Not legal from OBSERVING: refused.
  'propose.PLANNING',
  'call.start',
  'call.start', // A nested call.
  'call.succeed',
  'call.succeed',
  'run.finish',
]) {
  await pause(Number(values.pause));
  actor.send({ type });
  console.log(`${type.padEnd(16)} → ${actor.getSnapshot().value}`);
}

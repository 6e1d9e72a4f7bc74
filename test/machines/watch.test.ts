import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import {
  createWebSocketReceiver,
  type StatelyActorEvent,
  type StatelyInspectionEvent,
} from '@statelyai/inspect';
import { build } from 'esbuild';
import { afterEach, expect, test, vi } from 'vitest';
import { freePort } from '../free-port.ts';

const ROOT = new URL('../../', import.meta.url).pathname;
let program: ChildProcessByStdio<null, Readable, Readable> | undefined;

afterEach(() => {
  program?.kill();
});

// What a browser would show is what the receiver is sent; the page that shows it is Stately's.
test('what the runs of examples/machines/watch.mjs do arrives at the inspector', {
  timeout: 120_000,
}, async () => {
  const port = await freePort();
  const file = await watchProgram();
  program = spawn(process.execPath, [file, '--no-open', '--port', String(port), '--pause', '1'], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let faults = '';
  program.stderr.on('data', (text) => {
    faults += text;
  });
  await once(program.stdout, 'data');
  const events: StatelyInspectionEvent[] = [];
  createWebSocketReceiver({ server: `ws://localhost:${port}` }).subscribe((event) => events.push(event));

  const actors = () => events.filter((event): event is StatelyActorEvent => event.type === '@xstate.actor');
  const phasesOf = (actor: StatelyActorEvent | undefined) =>
    events
      .flatMap((event) =>
        event.type === '@xstate.snapshot' && event.sessionId === actor?.sessionId
          ? (event.snapshot as { value?: string }).value
          : [],
      )
      .filter((phase, index, all) => phase !== all[index - 1]);
  await vi.waitFor(() => expect(phasesOf(actors()[0])).toContain('ANSWERING'), { timeout: 60_000 });
  const [run, child] = actors();

  expect(faults).toBe('');
  expect(phasesOf(run)).toEqual([
    'IDLE',
    'PLANNING',
    'ACTING',
    'OBSERVING',
    'PLANNING',
    'ACTING',
    'OBSERVING',
    'ANSWERING',
  ]);
  expect(child).toMatchObject({ name: 'child', parentId: run?.sessionId });
  expect(phasesOf(child)).toEqual(['IDLE', 'PLANNING', 'ACTING', 'OBSERVING', 'ANSWERING']);
  const definition = JSON.parse(run?.definition ?? '{}') as { states?: object };
  expect(Object.keys(definition.states ?? {})).toHaveLength(7);
});

/** The example with the sources of the package in it, where it finds the other packages. */
async function watchProgram(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-watch-'));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const outfile = join(folder, 'watch.mjs');
  await build({
    entryPoints: [join(ROOT, 'examples/machines/watch.mjs')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    alias: { phasegate: join(ROOT, 'src/index.ts') },
    external: ['@statelyai/*', 'xstate', '@xstate/*'],
  });
  return outfile;
}

import { batch, effect } from '@preact/signals';
import type { Chart, Fault, StreamEvents } from '../protocol.ts';
import { RunModel } from '../run-model.ts';
import { chosen, forgetOthers } from './chosen.ts';
import { dropped, hello, link, locked, ready, runs, unknown, watched } from './store.ts';

const TOKEN = new URLSearchParams(location.search).get('token') ?? '';
// What comes within this time, in milliseconds, is drawn at once.
const PAUSE = 40;
const RETRY = 1_500;

/** Where enforcements stream to. */
export const INGEST_ADDRESS = `${location.origin}/?token=${TOKEN}`;

/** Listens to the server for as long as the page is open, for the chosen run and for the list of all. */
export function connect(): void {
  effect(() => listen(chosen.value));
}

/** The table of a run, laid out. */
export async function fetchChart(run: string, signal: AbortSignal): Promise<Chart> {
  const response = await fetch(addressOf('api/chart', { run }), { signal });
  const body: unknown = await response.json();
  if (!response.ok) throw new Error((body as Fault).error.message);
  return body as Chart;
}

function addressOf(path: string, fields: Record<string, string> = {}): string {
  return `${path}?${new URLSearchParams({ token: TOKEN, ...fields })}`;
}

function listen(key: string | null): () => void {
  const source = new EventSource(addressOf('stream', key === null ? {} : { run: key }));
  // The runs as they are known, and which of them this connection has told of so far.
  const known = new Map(runs.peek());
  let told = new Set<string>();
  let changes: (() => void)[] = [];
  let drawing: ReturnType<typeof setTimeout> | undefined;
  let retrying: ReturnType<typeof setTimeout> | undefined;
  let ended = false;
  let endRetry = () => {};

  const draw = () => {
    drawing = undefined;
    batch(() => {
      for (const change of changes) change();
      changes = [];
    });
  };
  const on = <Name extends keyof StreamEvents>(name: Name, take: (data: StreamEvents[Name]) => void) => {
    source.addEventListener(name, ({ data }: MessageEvent<string>) => {
      changes.push(() => take(JSON.parse(data)));
      drawing ??= setTimeout(draw, PAUSE);
    });
  };
  const tellRuns = () => {
    runs.value = new Map(known);
  };

  on('hello', (said) => {
    if (hello.peek() !== null && hello.peek()?.server !== said.server) {
      known.clear();
      watched.value = null;
      dropped.value = null;
      ready.value = false;
      tellRuns();
    }
    told = new Set();
    unknown.value = null;
    hello.value = said;
    link.value = 'open';
    forgetOthers();
  });
  on('runs', (summaries) => {
    for (const run of summaries) {
      known.set(run.key, run);
      told.add(run.key);
    }
    tellRuns();
  });
  on('ready', () => {
    for (const run of known.keys()) if (!told.has(run)) known.delete(run);
    tellRuns();
    ready.value = true;
  });
  on('gone', (keys) => {
    for (const run of keys) known.delete(run);
    tellRuns();
    if (key !== null && keys.includes(key)) unknown.value = key;
  });
  on('unknown', ({ run }) => {
    unknown.value = run;
  });
  on('dropped', (said) => {
    dropped.value = said;
  });
  on('events', ({ run, from, events }) => {
    if (run !== key) return;
    const before = watched.peek();
    const model = before?.key === key ? upTo(before.model, from) : new RunModel();
    model.append(events);
    watched.value = { key, model, length: model.length };
  });
  source.addEventListener('error', async () => {
    link.value = 'lost';
    // The browser connects again by itself, unless it was answered something else than a stream.
    if (source.readyState !== EventSource.CLOSED) return;
    const reason = await lockedBy();
    if (ended) return;
    locked.value = reason;
    if (reason === null) retrying = setTimeout(() => (endRetry = listen(key)), RETRY);
  });
  return () => {
    source.close();
    clearTimeout(drawing);
    clearTimeout(retrying);
    ended = true;
    endRetry();
  };
}

/** Why the server answers nothing to this page; `null` where it would, or is not there. */
async function lockedBy(): Promise<string | null> {
  try {
    const response = await fetch(addressOf('api/chart'));
    return response.status === 401 ? ((await response.json()) as Fault).error.message : null;
  } catch {
    return null;
  }
}

/** The model with the events before that index and no others. */
function upTo(model: RunModel, from: number): RunModel {
  if (from >= model.length) return model;
  const fresh = new RunModel();
  for (let index = 0; index < from; index += 1) fresh.append([model.event(index)]);
  return fresh;
}

import { request as httpRequest, type IncomingHttpHeaders, type RequestOptions } from 'node:http';
import { onTestFinished } from 'vitest';
import { newToken } from '../../src/inspect/access.ts';
import type { StreamEvents } from '../../src/inspect/protocol.ts';
import { type InspectServer, type InspectServerOptions, serve } from '../../src/inspect/server.ts';
import { RunStore } from '../../src/inspect/store.ts';
import { freePort } from '../free-port.ts';

export const TOKEN = newToken();

const PAGE = new Map([['/', { type: 'text/html; charset=utf-8', content: Buffer.from('<!doctype html>') }]]);

/** A server that is closed when the test ends. */
export async function startServer(
  options: Partial<InspectServerOptions> = {},
): Promise<InspectServer & { readonly store: RunStore }> {
  const store = options.store ?? new RunStore(2 ** 26);
  const server = await serve({ store, page: PAGE, port: 0, token: TOKEN, title: '', live: true, ...options });
  onTestFinished(() => server.close());
  return { ...server, store };
}

/** An address where nobody is. */
export async function addressOfNobody(): Promise<string> {
  return `http://127.0.0.1:${await freePort()}/?token=${TOKEN}`;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The code of a fault. */
  readonly code: string | undefined;
}

/** Asks as no browser would. */
export function ask(
  { port }: InspectServer,
  path: string,
  options: RequestOptions & { readonly body?: string | Uint8Array } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, path, ...options }, (response) => {
      const chunks: Uint8Array[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const { statusCode: status = 0, headers } = response;
        const isJson = headers['content-type']?.startsWith('application/json') === true;
        resolve({ status, headers, text, code: isJson ? JSON.parse(text).error?.code : undefined });
      });
    });
    request.on('error', reject);
    request.end(options.body);
  });
}

/** Sends a batch. */
export function send(
  server: InspectServer,
  head: object,
  events: readonly unknown[],
  token = TOKEN,
): Promise<Answer> {
  const lines = [{ version: 1, source: 'a', name: 'agent', first: 0, ...head }, ...events];
  return ask(server, `/ingest?token=${token}`, {
    method: 'POST',
    body: lines.map((line) => JSON.stringify(line)).join('\n'),
  });
}

export type Told = {
  readonly [Name in keyof StreamEvents]: { readonly name: Name; readonly data: StreamEvents[Name] };
}[keyof StreamEvents];

/** What a page is told, as it comes. Stop when enough was seen. */
export async function* listen({ url }: InspectServer, run?: string): AsyncGenerator<Told, void, undefined> {
  const address = new URL(url);
  address.pathname = '/stream';
  if (run !== undefined) address.searchParams.set('run', run);
  const abort = new AbortController();
  try {
    const response = await fetch(address, { signal: abort.signal });
    let rest = '';
    const text = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
    for await (const piece of text as AsyncIterable<string>) {
      const messages = `${rest}${piece}`.split('\n\n');
      rest = messages.pop() ?? '';
      for (const message of messages) {
        const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/.exec(message) ?? [];
        yield { name, data: JSON.parse(data) } as Told;
      }
    }
  } finally {
    abort.abort();
  }
}

/** Listens until something is so. @returns What it was that was told last, and all before. */
export async function listenUntil(
  server: InspectServer,
  isEnough: (all: readonly Told[]) => boolean,
  run?: string,
): Promise<readonly Told[]> {
  const all: Told[] = [];
  for await (const told of listen(server, run)) {
    all.push(told);
    if (isEnough(all)) break;
  }
  return all;
}

/** The data of all that was told by that name. */
export function of<Name extends keyof StreamEvents>(all: readonly Told[], name: Name): StreamEvents[Name][] {
  return all.flatMap((told) => (told.name === name ? [told.data as StreamEvents[Name]] : []));
}

/** The events of a run with one call. */
export function eventsOfRun(run: string, extra: object = {}): object[] {
  const call = { run, time: 2, call: 'c', seq: 1, tool: 'search' };
  return [
    { type: 'run.started', run, time: 1, parent: null, call: null, maxSteps: 5, budget: 'shared', ...extra },
    { ...call, type: 'call.started', parent: null },
    { ...call, type: 'call.ended', ok: true, late: false },
    { type: 'run.ended', run, time: 3, phase: 'ANSWERING', reason: null, stepCount: 1 },
  ];
}

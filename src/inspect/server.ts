import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PhasegateError } from '../errors.ts';
import { checkOrigin, checkToken, newToken } from './access.ts';
import { Charts } from './chart.ts';
import { Senders } from './ingest.ts';
import type { PageFiles } from './page-files.ts';
import { Refused } from './refused.ts';
import type { RunStore } from './store.ts';
import { Stream } from './stream.ts';

/** What is served, and where. */
export interface InspectServerOptions {
  readonly store: RunStore;
  readonly page: PageFiles;
  /** 0 for any that is free. */
  readonly port: number;
  readonly token: string;
  /** What is shown, for people. */
  readonly title: string;
  /** Whether more may come. */
  readonly live: boolean;
}

/** A server that listens. */
export interface InspectServer {
  readonly port: number;
  /** The address of the page, and of senders, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

const BODY_LIMIT = 8 * 2 ** 20;
const BODIES_LIMIT = 8 * BODY_LIMIT;
const STREAMS_LIMIT = 50;
/** Nobody on this machine takes longer to ask: whoever does would keep connections from others. */
const TIMEOUTS = { headersTimeout: 10_000, requestTimeout: 10_000, connectionsCheckingInterval: 1_000 };

/** What every answer says: nothing but this page may use it, and the page nothing but this server. */
const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/**
 * Serves the page and its data, to this machine only.
 *
 * @throws {PhasegateError} (rejects) `port-in-use`.
 */
export async function serve(options: InspectServerOptions): Promise<InspectServer> {
  const routes = new Routes(options);
  const listen = (host: string, port: number) => listening(host, port, (...both) => routes.answer(...both));
  const first = await listen('127.0.0.1', options.port);
  const { port } = first.address() as AddressInfo;
  const servers = [first];
  const close = async () => {
    await Promise.all(servers.map(closed));
  };
  try {
    servers.push(await listen('::1', port));
  } catch (error) {
    if (!isWithoutIPv6(error)) {
      await close();
      throw error;
    }
  }
  return { port, url: `http://127.0.0.1:${port}/?token=${options.token}`, close };
}

/** Answers requests. */
class Routes {
  readonly #options: InspectServerOptions;
  readonly #id = newToken();
  readonly #charts = new Charts();
  readonly #senders: Senders;
  readonly #bodies = new Bodies();
  #streams = 0;

  constructor(options: InspectServerOptions) {
    this.#options = options;
    this.#senders = new Senders(options.store);
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    try {
      await this.#route(request, response);
    } catch (error) {
      const refused = error instanceof Refused ? error : FAULT;
      // A body that nobody reads would keep the connection busy.
      if (!request.complete) response.setHeader('Connection', 'close');
      if (response.headersSent) response.destroy();
      else sendJson(response, refused.status, refused.toFault());
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    checkOrigin(request);
    const url = addressOf(request);
    const file = this.#options.page.get(url.pathname);
    if (file !== undefined) {
      allow(request, response, 'GET', 'HEAD');
      response.writeHead(200, { 'Content-Type': file.type, 'Content-Length': file.content.length });
      response.end(request.method === 'HEAD' ? undefined : file.content);
      return;
    }
    switch (url.pathname) {
      case '/stream':
        allow(request, response, 'GET');
        checkToken(request, url, this.#options.token);
        return this.#stream(response, url.searchParams.get('run'));
      case '/api/chart':
        allow(request, response, 'GET');
        checkToken(request, url, this.#options.token);
        return this.#chart(response, url.searchParams);
      case '/ingest':
        allow(request, response, 'POST');
        checkToken(request, url, this.#options.token);
        return sendJson(response, 200, this.#senders.take(await this.#bodies.read(request)));
      default:
        throw new Refused(404, 'not-found', 'There is nothing at this address');
    }
  }

  async #stream(response: ServerResponse, run: string | null): Promise<void> {
    if (this.#streams >= STREAMS_LIMIT) {
      throw new Refused(503, 'too-many-streams', `There are ${STREAMS_LIMIT} streams already: close a page`);
    }
    this.#streams += 1;
    response.on('close', () => {
      this.#streams -= 1;
    });
    response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    const { store, title, live } = this.#options;
    await new Stream(store, response, run).run({ server: this.#id, title, live });
  }

  async #chart(response: ServerResponse, params: URLSearchParams): Promise<void> {
    const direction = params.get('direction') ?? 'right';
    if (direction !== 'right' && direction !== 'down') {
      throw new Refused(400, 'malformed', '"direction" must be right or down');
    }
    const run = this.#options.store.runs.get(params.get('run') ?? '');
    if (run === undefined) throw new Refused(404, 'unknown-run', 'There is no such run, or not any more');
    sendJson(response, 200, await this.#charts.of(run.transitions, direction));
  }
}

const FAULT = new Refused(500, 'internal-fault', 'A fault of phasegate itself');

function addressOf({ url = '/' }: IncomingMessage): URL {
  const base = 'http://127.0.0.1';
  if (!URL.canParse(url, base)) throw new Refused(400, 'malformed', 'The address of the request is none');
  return new URL(url, base);
}

function allow({ method = '' }: IncomingMessage, response: ServerResponse, ...methods: string[]): void {
  if (methods.includes(method)) return;
  response.setHeader('Allow', methods.join(', '));
  throw new Refused(405, 'wrong-method', `The method must be ${methods.join(' or ')}`);
}

/** Reads bodies, of which all together take bounded memory. */
class Bodies {
  #size = 0;

  async read(request: IncomingMessage): Promise<string> {
    const chunks: Uint8Array[] = [];
    let size = 0;
    let kept = 0;
    try {
      for await (const chunk of request as AsyncIterable<Uint8Array>) {
        const isWhole = kept === size;
        size += chunk.length;
        if (!isWhole || size > BODY_LIMIT || this.#size + chunk.length > BODIES_LIMIT) continue;
        kept = size;
        this.#size += chunk.length;
        chunks.push(chunk);
      }
    } finally {
      this.#size -= kept;
    }
    // Read to its end all the same: a sender that is cut off never reads why.
    if (size > BODY_LIMIT) throw new Refused(413, 'too-large', `A batch may have ${BODY_LIMIT} bytes`);
    if (size > kept) throw new Refused(503, 'too-busy', 'Too many batches come at once: send this one again');
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    } catch {
      throw new Refused(400, 'malformed', 'A batch must be UTF-8');
    }
  }
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(value));
}

async function listening(
  host: string,
  port: number,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Server> {
  const server = createServer(TIMEOUTS, (request, response) => void answer(request, response));
  server.listen(port, host);
  try {
    await once(server, 'listening');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error;
    const what = code === 'EACCES' ? `is not permitted: ${message}` : 'is used by another program';
    throw new PhasegateError(
      'port-in-use',
      `Port ${port} ${what}. Choose another: --port 0 takes any that is free`,
      {
        cause: error,
      },
    );
  }
  return server;
}

function isWithoutIPv6(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT';
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

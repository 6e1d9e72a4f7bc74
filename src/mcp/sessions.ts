import type { Gate } from '../adapters/index.ts';
import type { SessionRequest, SessionSettings } from './options.ts';
import { isName, type RequestExtra, RUN_KEY } from './protocol.ts';
import { Session, type Transport } from './session.ts';

/** Why a call is of no run. */
export interface NoSession {
  readonly why: string;
}

const CLOSED = 'the session was closed';

/** The runs of all servers of a gate. */
export class Sessions {
  readonly #gate: Gate;
  readonly #settings: SessionSettings;
  // In the order in which they were last asked for a call.
  readonly #sessions = new Map<string, Session>();
  readonly #connections = new WeakMap<Transport, string>();
  readonly #watched = new WeakSet<Transport>();
  #begun = 0;

  constructor(gate: Gate, settings: SessionSettings) {
    this.#gate = gate;
    this.#settings = settings;
  }

  /**
   * The session that a call is of, begun if there is none.
   *
   * @param transport By which the server is connected now.
   */
  find(tool: string, extra: RequestExtra, transport: Transport | undefined): Session | NoSession {
    if (transport === undefined) return { why: CLOSED };
    const place = this.#placeOf(tool, extra, transport);
    if ('why' in place) return place;
    const { key, runId } = place;
    const session = this.#sessions.get(key);
    if (session !== undefined) {
      this.#sessions.delete(key);
      this.#sessions.set(key, session);
      return session;
    }
    if (!this.#makeRoom()) {
      return { why: `${this.#settings.maxRuns} runs are busy, and the server takes no more at once` };
    }
    return this.#begin(key, runId, place.session === undefined ? undefined : transport);
  }

  #placeOf(tool: string, extra: RequestExtra, transport: Transport): Place | NoSession {
    const { runFrom } = this.#settings;
    const named = runFrom === 'session' ? undefined : extra.meta[RUN_KEY];
    if (named !== undefined && !isName(named)) {
      return { why: `the run id in _meta["${RUN_KEY}"] is not a text of 1 to 128 visible ASCII characters` };
    }
    if (typeof runFrom === 'function') {
      const { sessionId, authInfo, given } = extra;
      return chosenBy(runFrom, { tool, sessionId, runId: named, authInfo, extra: given });
    }
    const session = this.#sessionOf(extra, transport);
    if (session === undefined && named === undefined) {
      return { why: 'the server keeps no sessions, and the call names no run' };
    }
    // Clients that are known to be two cannot meet in one run.
    const client = session === undefined ? (extra.authInfo?.clientId ?? null) : null;
    return { key: JSON.stringify([session ?? null, client, named ?? null]), runId: named, session };
  }

  /** What names a session: its id; or its connection, but for HTTP, where that is over with the request. */
  #sessionOf({ sessionId, http }: RequestExtra, transport: Transport): string | undefined {
    if (sessionId !== undefined) return `id ${sessionId}`;
    if (http) return undefined;
    let name = this.#connections.get(transport);
    if (name === undefined) {
      this.#begun += 1;
      name = `connection ${this.#begun}`;
      this.#connections.set(transport, name);
    }
    return name;
  }

  #makeRoom(): boolean {
    if (this.#sessions.size < this.#settings.maxRuns) return true;
    for (const [key, session] of this.#sessions) {
      if (!session.idle) continue;
      this.#end(key, session, 'others needed its place');
      return true;
    }
    return false;
  }

  #begin(key: string, runId: string | undefined, transport: Transport | undefined): Session {
    this.#begun += 1;
    // Two clients may choose the same name, and one may use it again. A session is the child of no call, whoever asks first.
    const id = runId === undefined ? undefined : `${runId}@${this.#begun}`;
    const invocation = this.#gate.begin({ id, parent: null });
    const { idleMs } = this.#settings;
    const session: Session = new Session(invocation, transport, idleMs, () =>
      this.#end(key, session, 'it was idle'),
    );
    this.#sessions.set(key, session);
    if (transport !== undefined) this.#closeWith(transport);
    return session;
  }

  #end(key: string, session: Session, reason: string): void {
    this.#sessions.delete(key);
    session.close(reason);
    session.forget();
  }

  #closeWith(transport: Transport): void {
    if (this.#watched.has(transport)) return;
    this.#watched.add(transport);
    const { onclose } = transport;
    transport.onclose = () => {
      for (const session of this.#sessions.values()) {
        // It is found until it was idle for long enough: whoever still knows its id gets no other budget.
        if (session.transport === transport) session.close(CLOSED);
      }
      onclose?.call(transport);
    };
  }
}

/** Where a call belongs. */
interface Place {
  readonly key: string;
  /** What its run is called. */
  readonly runId: string | undefined;
  /** The session that it ends with. */
  readonly session: string | undefined;
}

function chosenBy(
  runFrom: (request: SessionRequest) => string | undefined,
  request: SessionRequest,
): Place | NoSession {
  let runId: unknown;
  try {
    runId = runFrom(request);
  } catch {
    // What it says of itself is not for clients to read.
  }
  if (!isName(runId)) return { why: 'the server knows no run for it' };
  return { key: JSON.stringify([runId]), runId, session: undefined };
}

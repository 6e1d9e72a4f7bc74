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
    const key = JSON.stringify([place.owner, place.runId ?? null]);
    const session = this.#sessions.get(key);
    if (session !== undefined) {
      this.#sessions.delete(key);
      this.#sessions.set(key, session);
      return session;
    }
    if (!this.#makeRoom()) {
      return { why: `${this.#settings.maxRuns} runs are busy, and the server takes no more at once` };
    }
    return this.#begin(key, place, transport);
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
    if (session !== undefined) return { owner: session, runId: named, endsWithConnection: true };
    if (named === undefined) return { why: 'the server keeps no sessions, and the call names no run' };
    // Clients that are known to be two cannot meet in one run.
    const clientId = extra.authInfo?.clientId;
    return {
      owner: clientId === undefined ? 'anyone' : `client ${clientId}`,
      runId: named,
      endsWithConnection: false,
    };
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

  /** @returns Whether there is room for one more. */
  #makeRoom(): boolean {
    if (this.#sessions.size < this.#settings.maxRuns) return true;
    const runsOf = new Map<string, number>();
    for (const { owner } of this.#sessions.values()) runsOf.set(owner, (runsOf.get(owner) ?? 0) + 1);
    let found: [string, Session] | undefined;
    let most = 0;
    for (const [key, session] of this.#sessions) {
      if (!session.idle) continue;
      // Whoever names run after run takes the place of their own: the run of another would begin with a new budget.
      const runs = session.closed ? Number.POSITIVE_INFINITY : (runsOf.get(session.owner) ?? 0);
      if (runs <= most) continue;
      found = [key, session];
      most = runs;
    }
    if (found === undefined) return false;
    this.#end(...found);
    return true;
  }

  #begin(key: string, { owner, runId, endsWithConnection }: Place, transport: Transport): Session {
    this.#begun += 1;
    // Two clients may choose the same name, and one may use it again. A session is the child of no call, whoever asks first.
    const id = runId === undefined ? undefined : `${runId}@${this.#begun}`;
    const session: Session = new Session(this.#gate.begin({ id, parent: null }), {
      owner,
      transport: endsWithConnection ? transport : undefined,
      idleMs: this.#settings.idleMs,
      onIdle: () => this.#end(key, session),
    });
    this.#sessions.set(key, session);
    if (endsWithConnection) this.#closeWith(transport);
    return session;
  }

  /** Of a session that is idle. */
  #end(key: string, session: Session): void {
    this.#sessions.delete(key);
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
  /** Whose run it is: nobody else finds it. */
  readonly owner: string;
  /** What the run is called. */
  readonly runId: string | undefined;
  readonly endsWithConnection: boolean;
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
  return { owner: `run ${runId}`, runId, endsWithConnection: false };
}

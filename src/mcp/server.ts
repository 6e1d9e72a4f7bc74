import { type Gate, refusalText, type ShowRefusal, throwRefusal, withMethods } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { invalidArgument, noActiveRun, PhasegateError, ToolExecutionBlocked } from '../errors.ts';
import { type Handle, type Handler, superviseHandle } from './handle.ts';
import type { SessionSettings } from './options.ts';
import {
  callIdOf,
  errorResult,
  extraOf,
  failOnError,
  type RequestExtra,
  readExtra,
  resultOf,
} from './protocol.ts';
import type { Transport } from './session.ts';
import { Sessions } from './sessions.ts';
import { Turns } from './turns.ts';

/** What of a server is looked at: it is a `McpServer`. */
export interface Server {
  registerTool(name: string, config: never, callback: never): unknown;
  readonly server: object;
}

type Register = (...params: unknown[]) => Handle;

interface Inside {
  readonly server: { readonly transport?: Transport | undefined };
  readonly _registeredTools?: Readonly<Record<string, unknown>>;
  readonly experimental?: { readonly tasks?: { registerToolTask?: Register } };
  registerTool: Register;
  tool?: Register;
}

/** Puts servers under enforcement, each once. */
export class ServerWrapper {
  readonly #gate: Gate;
  readonly #sessions: Sessions;
  readonly #turns = new Turns();
  readonly #servers = new WeakSet<object>();
  readonly #guarded = new WeakSet<object>();

  constructor(gate: Gate, settings: SessionSettings) {
    this.#gate = gate;
    this.#sessions = new Sessions(gate, settings);
  }

  /** Whatever is registered from now on is asked for, on the server itself: no older reference to it leads past. */
  wrap<S extends Server>(given: S): S {
    if (typeof given?.registerTool !== 'function' || typeof given.server !== 'object') {
      throw invalidArgument('server', 'a McpServer', given);
    }
    if (this.#servers.has(given)) return given;
    const server = given as unknown as Inside;
    const names = Object.keys(server._registeredTools ?? {});
    if (names.length > 0) {
      throw new PhasegateError(
        'unsupervised-tool',
        `The server has tools that are not under enforcement: ${names.join(', ')}. Register tools after gate.server(…)`,
      );
    }
    this.#servers.add(given);
    this.#replace(server, server, 'registerTool');
    this.#replace(server, server, 'tool');
    this.#replace(server, server.experimental?.tasks, 'registerToolTask');
    return given;
  }

  /** Replaces a method that takes the name of a tool first, and its handler last. */
  #replace<K extends string>(
    server: Inside,
    holder: { [name in K]?: Register } | undefined,
    method: K,
  ): void {
    const register = holder?.[method];
    if (holder === undefined || typeof register !== 'function') return;
    const replaced: Register = (name, ...rest) => {
      let current = name as string;
      const guard = (handler: unknown) => this.#guard(server, () => current, handler);
      const handle = register.call(holder, name, ...rest.slice(0, -1), guard(rest.at(-1)));
      return superviseHandle(handle, guard, (renamed) => {
        current = renamed;
      });
    };
    Object.defineProperty(holder, method, { value: replaced, configurable: true, writable: true });
  }

  /** A handler that asks before it runs: a function, or what makes tasks. What is neither is for the server to refuse. */
  #guard(server: Inside, name: () => string, handler: unknown): unknown {
    const given = handler as Handler | { createTask?: Handler } | null | undefined;
    if (given === null || given === undefined || this.#guarded.has(given)) return given;
    let guarded: object;
    if (typeof given === 'function') {
      guarded = (...params: unknown[]) => this.#call(server, name(), given, params, errorResult);
    } else {
      const create = given.createTask?.bind(given);
      if (create === undefined) return given;
      // A refusal is no task: the server makes an error of what is thrown.
      const createTask = (...params: unknown[]) => this.#call(server, name(), create, params, throwRefusal);
      guarded = withMethods(given, { createTask });
    }
    this.#guarded.add(guarded);
    return guarded;
  }

  async #call(
    server: Inside,
    tool: string,
    handler: Handler,
    params: readonly unknown[],
    show: ShowRefusal<unknown>,
  ): Promise<unknown> {
    const args = params.length > 1 ? params[0] : undefined;
    const extra = readExtra(params.at(-1));
    if (extra === undefined) return this.#refuse(tool, args, 'its handler was called by no server', show);
    const session = this.#sessions.find(tool, extra, server.server.transport);
    if ('why' in session) return this.#refuse(tool, args, session.why, show);
    const { run } = session;
    const ask = (turn: object | undefined) => {
      const request = { tool, args, callId: callIdOf(extra.meta), run, turn };
      return resultOf(this.#gate.call<unknown>(request, bodyOf(handler, params, extra), show));
    };
    try {
      return await session.during(() => this.#turns.call(run, ask));
    } catch (error) {
      // The caller is in another process: a refusal that has ended the run is told as any other.
      if (error instanceof ToolExecutionBlocked) return show(refusalText(error), error);
      throw error;
    }
  }

  /** A call that is of no run. */
  async #refuse(tool: string, args: unknown, why: string, show: ShowRefusal<unknown>): Promise<unknown> {
    const { enforcement } = this.#gate;
    const blocked = noActiveRun(tool, why);
    // For listeners. A client in the same process may have a run around this code, which has nothing to do with it.
    if (enforcement.currentRun() === null) {
      await this.#gate.call({ tool, args }, () => undefined, throwRefusal).catch(() => undefined);
    }
    return show(refusalText(blocked), blocked);
  }
}

/** @param params What the server calls the handler with: what it hands to handlers last, and the arguments first, if any. */
function bodyOf(handler: Handler, params: readonly unknown[], extra: RequestExtra) {
  return async (call: Call): Promise<unknown> => {
    // It may have been cancelled while it waited its turn.
    extra.signal?.throwIfAborted();
    return failOnError(await handler(...params.slice(0, -1), extraOf(extra, call)));
  };
}

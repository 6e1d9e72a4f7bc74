import type { SupervisorOptions } from 'phasegate';
import { type Gate, type GateOptions, supervise } from 'phasegate/mcp';
import { z } from 'zod';
import { World } from '../world.ts';
import {
  type Any,
  callTool,
  connect,
  type Extra,
  INFO,
  type Result,
  result,
  type Version,
} from './version.ts';

export type Handler = (args: Readonly<Record<string, unknown>>, extra: Extra) => unknown;

/** How a client makes a call. */
export interface CallOptions {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly meta?: Readonly<Record<string, unknown>>;
  /** Of the SDK, such as a signal and a timeout. */
  readonly request?: object;
}

/** A client that is connected to a server under enforcement. */
export interface Session {
  readonly client: Any;
  call(tool: string, options?: CallOptions): Promise<Result>;
  /** A call of a run that the client names. */
  callIn(run: unknown, tool?: string): Promise<Result>;
  close(): Promise<void>;
}

/** Where the tests of servers are set: one gate, and what it tells. */
export class Stage {
  readonly version: Version;
  readonly world: World;
  readonly gate: Gate;
  readonly #sessions: Session[] = [];

  constructor(version: Version, rules: SupervisorOptions = {}, options: GateOptions = {}) {
    this.version = version;
    this.world = new World(rules);
    this.gate = supervise(this.world.enforcement, options);
  }

  /** A server under enforcement, whose handlers are counted. */
  server(handlers: Readonly<Record<string, Handler>>): Any {
    const server = this.gate.server(new this.version.McpServer(INFO));
    for (const [name, handler] of Object.entries(handlers)) this.register(server, name, handler);
    return server;
  }

  /** Registers a tool, and gives back its handle. What is no result is made one. */
  register(server: Any, name: string, handler: Handler, config: object = {}): Any {
    return server.registerTool(
      name,
      { inputSchema: z.looseObject({}), ...config },
      this.counted(name, handler),
    );
  }

  counted(name: string, handler: Handler): Handler {
    return async (args, extra) => {
      this.world.started.push(name);
      const answer = await handler(args, extra);
      return typeof answer === 'object' && answer !== null ? answer : result(answer);
    };
  }

  /** A session of its own: a client, and a server. */
  async open(handlers: Readonly<Record<string, Handler>>): Promise<Session> {
    return await this.connect(this.server(handlers));
  }

  async connect(server: Any): Promise<Session> {
    const client = new this.version.Client(INFO);
    await connect(this.version, server, client);
    return this.sessionOf(client);
  }

  sessionOf(client: Any): Session {
    const call: Session['call'] = (name, { args = {}, meta, request } = {}) =>
      callTool(this.version, client, { name, arguments: args, ...(meta && { _meta: meta }) }, request);
    const session: Session = {
      client,
      call,
      callIn: (run, tool = 'search') => call(tool, { meta: { 'phasegate/run': run } }),
      close: () => client.close(),
    };
    this.#sessions.push(session);
    return session;
  }

  /** Closes what is open, after which the world has to be sound. */
  async close(): Promise<void> {
    for (const session of this.#sessions) await session.close();
    for (let i = 0; i < 200 && this.world.ended.length < this.world.of('run.started').length; i += 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    this.world.expectSound();
  }
}

import { Gate as Core, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { type Client, type ClientOptions, superviseClient } from './client.ts';
import { type GateOptions, readSessionSettings, SESSION_OPTIONS } from './options.ts';
import { type Server, ServerWrapper } from './server.ts';

/** Stands around the servers and the clients of an application. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts the tools of a server under enforcement that are registered from now on. The calls of a session are a run, which
   * ends when the session is closed, and when there was no call for `idleMs`: see {@link GateOptions}.
   *
   * @param server A `McpServer` that has no tools yet. It is changed.
   * @returns The same server.
   * @throws {PhasegateError} `invalid-argument`; `unsupervised-tool` when it has tools.
   * @example
   * const server = gate.server(new McpServer({ name: 'files', version: '1.0.0' }));
   * server.registerTool('read', { inputSchema: { name: z.string() } }, readFile);
   */
  server<S extends Server>(server: S): S;
  /**
   * Puts the calls of a client under enforcement: `callTool` asks for a call of the run that the code is inside of. A result
   * that says `isError` is one of a call that failed.
   *
   * @param client A `Client`. It is left as it is.
   * @returns A client of the same type, for the code of the agent.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const files = gate.client(client);
   * const answer = await gate.run(() => agent(question, (params) => files.callTool(params)));
   */
  client<C extends Client>(client: C, options?: ClientOptions): C;
  /**
   * Makes whatever a function does a run: an agent that calls tools of servers. For an abort to stop the model as well, hand
   * on the run's signal.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
   * @example const answer = await gate.run((run) => agent(question, run.signal), { timeoutMs: 60_000 });
   */
  run<T>(agent: (run: Run) => T, options?: RunOptions): T;
}

/**
 * Makes the gate of an application.
 *
 * @param supervising An enforcement, or a supervisor or configuration to make one of.
 * @throws {ConfigError} when the configuration has faults.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function supervise(supervising: Supervising, options: GateOptions = {}): Gate {
  const core = new Core(supervising, options, { options: SESSION_OPTIONS });
  const servers = new ServerWrapper(core, readSessionSettings(options));
  return {
    enforcement: core.enforcement,
    server: (server) => servers.wrap(server),
    client: (client, clientOptions) => superviseClient(core, client, clientOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

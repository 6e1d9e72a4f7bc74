import { type AgentOptions, Gate as Core, type GateOptions, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { type Query, superviseQuery } from './query.ts';
import { Sessions } from './session.ts';
import { type Tool, wrapTools } from './tools.ts';

/** Stands around the queries of an application, and around its own tools. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts tools that run in this process under enforcement themselves: what their bodies call is nested in them, and agents that
   * they ask are child runs. A query asks for the calls of all its tools, also without this.
   *
   * @param tools What `tool` made, for `createSdkMcpServer`.
   * @returns Tools of the same types.
   */
  tools<T extends readonly Tool[]>(tools: T): T;
  /**
   * Makes each call of `query` a run, which ends with its messages, or when their reader breaks off. Hooks ask for each tool
   * call, ahead of the hooks that `options` has. Subagents are child runs. Inside of a tool that has been through `tools` the
   * query is a child run itself.
   *
   * @param options Of its runs, ahead of those of the gate.
   * @returns The same, of the same type.
   * @throws {PhasegateError} `invalid-argument`.
   * @example const query = gate.agent(claude.query, { timeoutMs: 60_000 });
   */
  agent<A extends Query>(query: A, options?: AgentOptions): A;
  /**
   * Makes whatever a function does a run.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
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
  const core = new Core(supervising, options, {});
  const sessions = new Sessions();
  return {
    enforcement: core.enforcement,
    tools: (tools) => wrapTools(core, sessions, tools),
    agent: (query, runOptions) => superviseQuery(core, sessions, query, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

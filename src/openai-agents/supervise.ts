import { type AgentOptions, Gate as Core, type GateOptions, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { type RunFunction, type Runner, superviseInvoker } from './agents.ts';
import type { McpServer } from './mcp.ts';
import { type Agent, SubAgents } from './sub-agents.ts';
import { framework, type Tool, type ToolFactory, ToolWrapper } from './tools.ts';

/** Stands around the tools and the agents of an application. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts the tools that a function makes under enforcement: it sees what a body throws, before the SDK makes a text of it.
   *
   * @param factory The function `tool` of the SDK.
   * @returns A function of the same type, to make tools with instead.
   * @throws {PhasegateError} `invalid-argument`.
   * @example const search = gate.tool(tool)({ name: 'search', description, parameters, execute });
   */
  tool<F extends ToolFactory>(factory: F): F;
  /**
   * Puts tools under enforcement that are made already: function tools, local shells and editors. Of a function tool a
   * failure is not seen, unless it throws: it counts as a step. Tools that the provider executes are left as they are: no
   * code of yours runs.
   *
   * @returns Tools of the same types.
   * @throws {PhasegateError} `invalid-argument`, also for a computer, and for a tool that `asTool` of an agent has made.
   */
  tools<T extends readonly Tool[]>(tools: T): T;
  /**
   * Puts the tools of an MCP server under enforcement, for the `mcpServers` of an agent.
   *
   * @returns The same, of the same type.
   * @throws {PhasegateError} `invalid-argument`.
   */
  mcpServer<S extends McpServer>(server: S): S;
  /**
   * Makes each invocation of an agent a run: of what the function `run` or a `Runner` invokes, and, of an `Agent`, of the
   * tools that its `asTool` makes, which are child runs. Agents that are handed over to are in the same run. It ends with the
   * invocation; of a stream it does when it has been read, or is broken off.
   *
   * @param options Of its runs, ahead of those of the gate.
   * @returns The same, of the same type. An invocation rejects with `unsupervised-tool` when a tool of the agent, or of one
   *   that it hands over to, is not under enforcement.
   * @throws {PhasegateError} `invalid-argument`.
   * @example const { finalOutput } = await gate.agent(run)(agent, 'Go');
   * @example const research = gate.agent(researcher).asTool({ toolName: 'research', toolDescription });
   */
  agent<T extends RunFunction | Runner | Agent>(agent: T, options?: AgentOptions): T;
  /**
   * Makes whatever a function does a run: such as an invocation, and those that resume it after an approval. For an abort to
   * stop the model as well, hand on the run's signal. The tools of the agents are not looked at.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
   * @example const result = await gate.run((phases) => run(agent, 'Go', { signal: phases.signal }), { timeoutMs: 60_000 });
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
  const core = new Core(supervising, options, framework);
  const wrapper = new ToolWrapper(core);
  const agents = new SubAgents(core, wrapper);
  return {
    enforcement: core.enforcement,
    tool: (factory) => wrapper.wrapFactory(factory),
    tools: (tools) => wrapper.wrapAll(tools),
    mcpServer: (server) => wrapper.wrapServer(server),
    agent: (agent, runOptions) => superviseInvoker(core, agents, agent, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

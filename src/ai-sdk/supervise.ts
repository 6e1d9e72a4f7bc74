import { type AgentOptions, Gate as Core, type GateOptions, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { type Agent, type AgentFunction, superviseAgent } from './agents.ts';
import { framework, type Tool, ToolWrapper } from './tools.ts';

/** Stands around the tools and the agents of an application. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts tools under enforcement. Those that the provider executes are left as they are: no code of yours runs.
   *
   * @returns Tools of the same types.
   */
  tools<T extends Readonly<Record<string, Tool>>>(tools: T): T;
  /**
   * Makes each invocation of an agent a run: of a `ToolLoopAgent`, whose tools have been through `tools`, or of
   * `generateText` or `streamText`, whose tools are put under enforcement when it is called. The run ends with the
   * invocation; of a stream it does when it has been read, or is broken off. Inside of a tool it is a child run.
   *
   * @param options Of its runs, ahead of those of the gate.
   * @returns The same, of the same type.
   * @throws {PhasegateError} `invalid-argument`; `unsupervised-tool` when a tool of the agent has not been through `tools`.
   * @example const generate = gate.agent(generateText);
   */
  agent<A extends Agent | AgentFunction>(agent: A, options?: AgentOptions): A;
  /**
   * Makes whatever a function does a run. For an abort to stop the model as well, hand on the run's signal.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
   * @example
   * const result = gate.run((run) => streamText({ model, tools, prompt, abortSignal: run.signal }), { timeoutMs: 60_000 });
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
  return {
    enforcement: core.enforcement,
    tools: (tools) => wrapper.wrapAll(tools),
    agent: (agent, runOptions) => superviseAgent(core, wrapper, agent, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

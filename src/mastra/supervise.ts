import { type AgentOptions, Gate as Core, type GateOptions, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { type Agent, AgentWrapper, framework } from './agents.ts';
import { type Tool, ToolWrapper } from './tools.ts';

/** Stands around the tools and the agents of an application. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts tools under enforcement, for agents and for workflows.
   *
   * @returns Tools of the same types.
   */
  tools<T extends Readonly<Record<string, Tool>>>(tools: T): T;
  /**
   * Makes each invocation of an agent a run, and puts whatever it calls under enforcement: its tools, also those that have
   * not been through `tools`, its workflows, and its agents, which have to be supervised themselves. The run ends with the
   * invocation; of a stream it does when it has been read, or is broken off. Inside of a call it is a child run.
   *
   * @param options Of its runs, ahead of those of the gate.
   * @returns The same, of the same type. Ways to invoke it in which calls could not be asked for throw `unsupervised-method`.
   * @throws {PhasegateError} `invalid-argument`; an invocation rejects with `unsupervised-agent` when an agent that it can
   *   delegate to has not been through `agent`.
   * @example const { text } = await gate.agent(agent).generate('What do the pages say?', { abortSignal });
   */
  agent<A extends Agent>(agent: A, options?: AgentOptions): A;
  /**
   * Makes whatever a function does a run, such as that of a workflow whose steps call tools. For an abort to stop a model as
   * well, hand on the run's signal.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
   * @example const result = await gate.run(async () => (await workflow.createRun()).start({ inputData }));
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
  const tools = new ToolWrapper(core);
  const agents = new AgentWrapper(core, tools);
  return {
    enforcement: core.enforcement,
    tools: (given) => tools.wrapAll(given),
    agent: (agent, runOptions) => agents.wrap(agent, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

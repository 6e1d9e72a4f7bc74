/**
 * Puts agents of the AI SDK (`ai` 6 and 7) under enforcement.
 *
 * @example
 * import { ToolLoopAgent } from 'ai';
 * import { supervise } from 'phasegate/ai-sdk';
 *
 * const gate = supervise({ agentProfile: { resourceBudget: { maxSteps: 20 } } });
 * const agent = gate.agent(new ToolLoopAgent({ model, tools: gate.tools({ search, readFile }) }));
 * const { text } = await agent.generate({ prompt });
 *
 * @module
 */
import { Gate as Core, type GateOptions } from '../adapters/index.ts';
import type { Config } from '../config.ts';
import type { Enforcement } from '../enforcement.ts';
import type { Run, RunOptions } from '../run.ts';
import { superviseAgent } from './agents.ts';
import { framework, type Tool, ToolWrapper } from './tools.ts';

export type { GateOptions } from '../adapters/index.ts';
export type { Tool } from './tools.ts';

/** An agent, as `ToolLoopAgent` is one. */
export interface Agent {
  readonly tools: unknown;
  generate(options: never): unknown;
  stream(options: never): unknown;
}

/** A function that takes tools and a signal, as `generateText` and `streamText` do. */
export type AgentFunction = (options: never) => unknown;

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
   * @returns The same, of the same type.
   * @throws {PhasegateError} `invalid-argument`; `unsupervised-tool` when a tool of the agent has not been through `tools`.
   * @example const generate = gate.agent(generateText);
   */
  agent<A extends Agent | AgentFunction>(
    agent: A,
    options?: Pick<RunOptions, 'timeoutMs' | 'budget' | 'maxDepth'>,
  ): A;
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
 * @param enforcement One made with `createEnforcement`, or a configuration to make one of.
 * @throws {ConfigError} when the configuration has faults.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function supervise(enforcement: Enforcement | Config, options: GateOptions = {}): Gate {
  const core = new Core(enforcement, options, framework);
  const wrapper = new ToolWrapper(core);
  return {
    enforcement: core.enforcement,
    tools: (tools) => wrapper.wrapAll(tools),
    agent: (agent, runOptions) => superviseAgent(core, wrapper, agent, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

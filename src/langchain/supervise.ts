import { type AgentOptions, Gate as Core, type GateOptions, type Supervising } from '../adapters/index.ts';
import type { Enforcement } from '../enforcement.ts';
import { invalidArgument } from '../errors.ts';
import type { Run, RunOptions } from '../run.ts';
import { type Agent, superviseAgent } from './agents.ts';
import { type GateMiddleware, type Middleware, middlewareOf } from './middleware.ts';
import { type Tool, ToolWrapper } from './tools.ts';

/** Stands around the tools and the agents of an application. */
export interface Gate {
  /** What holds the runs; it tells listeners what happens. */
  readonly enforcement: Enforcement;
  /**
   * Puts tools under enforcement: for `createAgent`, `createReactAgent`, a `ToolNode`, or code that invokes them. Those that the
   * provider executes are left as they are: no code of yours runs.
   *
   * @returns Tools of the same types.
   * @throws {PhasegateError} `invalid-argument`.
   * @example const tools = new ToolNode(gate.tools([search, readFile]));
   */
  tools<T extends readonly Tool[] | readonly [Tool]>(tools: T): T;
  /**
   * The middleware of an agent of `createAgent`, with one more that asks for each call before its body starts: also for tools
   * that other middleware brings in. Those that have been through `tools` as well are asked for once.
   *
   * @param others The agent's own middleware, outermost first.
   * @returns All of it, in the order in which it has to be.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const agent = gate.agent(createAgent({ model, tools, middleware: gate.middleware([toolRetryMiddleware()]) }));
   */
  middleware<T extends readonly Middleware[] | readonly [Middleware] = []>(
    others?: T,
  ): [...T, GateMiddleware];
  /**
   * Makes each invocation of an agent a run: of one that `createAgent` or `createReactAgent` made, or of any compiled graph
   * whose tools have been through `tools`. The run ends with the invocation, also with one that an interrupt suspends; of a
   * stream it does when it has been read, or is broken off. Inside of a tool it is a child run.
   *
   * @param options Of its runs, ahead of those of the gate.
   * @returns The same, of the same type.
   * @throws {PhasegateError} `invalid-argument`; `unsupervised-tool` when the agent has a tool that is not under enforcement.
   * @example const agent = gate.agent(createReactAgent({ llm, tools: gate.tools([search]) }));
   */
  agent<A extends Agent>(agent: A, options?: AgentOptions): A;
  /**
   * Makes whatever a function does a run. For an abort to stop the model as well, hand on the run's signal.
   *
   * @returns What the function returns: the run ends when a promise is settled, and when a stream has been read.
   * @example
   * const state = await gate.run((run) => graph.invoke(input, { signal: run.signal }), { timeoutMs: 60_000 });
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
  const { enforcement } = core;
  const wrapper = new ToolWrapper(core);
  return {
    enforcement,
    tools: (tools) => wrapper.wrapAll(tools),
    middleware: (others) => {
      const outer = others ?? [];
      if (!Array.isArray(outer)) throw invalidArgument('others', 'an array of middleware', others);
      const alone = outer.every(({ wrapToolCall }: Middleware) => wrapToolCall === undefined);
      return [...outer, middlewareOf(enforcement, wrapper, alone)] as never;
    },
    agent: (agent, runOptions) => superviseAgent(core, wrapper, agent, runOptions),
    run: (agent, runOptions) => core.invoke(agent, runOptions),
  };
}

/** How LangGraph streams: what `streamEvents` of version 3 returns has streams in it. */
const framework = { hasStreams: (result: object) => 'interrupts' in result && 'lifecycle' in result };

import { type AgentOptions, type Gate, rejectUnsupervised, withMethods } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { isToolExecutionBlocked } from '../errors.ts';
import type { Run } from '../run.ts';
import { FailedResult, resultOf } from './failed.ts';
import {
  type CallDetails,
  type Context,
  type FunctionTool,
  parsed,
  type Tool,
  type ToolWrapper,
  withOwn,
} from './tools.ts';

/** An agent, as `Agent` makes them. */
export interface Agent {
  readonly name: string;
  readonly tools: readonly Tool[];
  readonly handoffs: readonly unknown[];
  readonly mcpServers: readonly { readonly name: string }[];
  readonly capabilities?: readonly unknown[];
  asTool(options: never): unknown;
  // biome-ignore lint/suspicious/noExplicitAny: listeners of events of many kinds.
  on(event: any, listener: any): unknown;
}

const ADVICE = 'Make them with gate.tool(tool), or put them through gate.tools or gate.mcpServer';

type Invoke = (context: Context, input: string, details?: CallDetails) => Promise<unknown>;

/** Agents as tools of others: each of their invocations is a call, and inside of it a child run. */
export class SubAgents {
  readonly #gate: Gate;
  readonly #wrapper: ToolWrapper;
  /** The agents behind what `wrap` returned, and behind the tools made of them, by what is called of those. */
  readonly #agents = new WeakMap<object, Agent>();
  readonly #watched = new WeakSet<object>();
  readonly #answered = new WeakSet<Run>();

  constructor(gate: Gate, wrapper: ToolWrapper) {
    this.#gate = gate;
    this.#wrapper = wrapper;
  }

  /** @returns The agent, of which `asTool` makes a tool under enforcement. */
  wrap<A extends Agent>(agent: A, options: AgentOptions = {}): A {
    const asTool = agent.asTool as (options: object) => FunctionTool;
    const wrapped = withMethods(agent, {
      asTool: (toolOptions: object) => this.#supervise(agent, asTool.call(agent, toolOptions), options),
    });
    this.#agents.set(wrapped, agent);
    return wrapped;
  }

  /** The agent itself, of one that `wrap` returned: the SDK knows agents by identity. */
  original(agent: object): object {
    return this.#agents.get(agent) ?? agent;
  }

  /**
   * Looks at an agent, and at all that it can hand over to or call.
   *
   * @throws {PhasegateError} `unsupervised-tool` when something of them would run without being asked for.
   */
  check(agent: object): void {
    rejectUnsupervised(
      [...this.#reachable(agent)].flatMap((each) => this.#unsupervised(each)),
      ADVICE,
    );
  }

  #unsupervised({ name, tools, mcpServers, capabilities = [] }: Agent): string[] {
    return [
      ...tools.filter((tool) => !this.#wrapper.isSupervised(tool)).map((tool) => tool.name),
      ...mcpServers
        .filter((server) => !this.#wrapper.isServerSupervised(server))
        .map((server) => `${server.name} (an MCP server)`),
      // Of an agent in a sandbox: the SDK makes tools of them.
      ...(capabilities.length > 0 ? [`the capabilities of ${name}`] : []),
    ];
  }

  #supervise(agent: Agent, tool: FunctionTool, options: AgentOptions): FunctionTool {
    const invoke = tool.invoke as Invoke;
    const supervised: Invoke = async (context, input, details) => {
      this.check(agent);
      const body = (_: Call, inside: CallDetails) => {
        this.#watch(agent);
        return this.#asChild(agent, inside, options, (run) =>
          invoke.call(tool, context, input, withOwn(inside, { signal: run.signal })),
        );
      };
      return await resultOf(this.#wrapper.call(tool.name, parsed(input), context, details, body));
    };
    this.#agents.set(supervised, agent);
    this.#wrapper.add(supervised);
    // In its place, because the SDK knows the tool by identity, too.
    return Object.assign(tool, { invoke: supervised });
  }

  /**
   * The SDK makes a text of whatever goes wrong inside, and an empty one of an agent that waits for an approval, and is
   * called again when it has it. None of them is a step.
   */
  async #asChild(
    agent: Agent,
    { signal }: CallDetails,
    options: AgentOptions,
    invoke: (run: Run) => Promise<unknown>,
  ): Promise<unknown> {
    let child: Run | undefined;
    try {
      return await this.#gate.invoke(
        async (run) => {
          child = run;
          const output = await invoke(run);
          if (!this.#answered.has(run)) throw new FailedResult(output, `${agent.name} gave no answer`);
          return output;
        },
        { ...options, signal },
      );
    } catch (error) {
      const refused = child === undefined && isToolExecutionBlocked(error);
      // What the child ended with before its time is told to the model, which may go on without it.
      if (!refused && (!child?.signal.aborted || error instanceof FailedResult)) throw error;
      const { message } = error as Error;
      throw new FailedResult(`An error occurred while running the tool: ${message}`, message);
    }
  }

  /** Hears of it when agents answer, of which they tell only if all went well. */
  #watch(agent: object): void {
    for (const each of this.#reachable(agent, false)) {
      if (this.#watched.has(each)) continue;
      this.#watched.add(each);
      each.on('agent_end', () => {
        const run = this.#gate.enforcement.currentRun();
        if (run !== null) this.#answered.add(run);
      });
    }
  }

  #reachable(agent: object, throughTools = true): Set<Agent> {
    const reached = new Set<Agent>([this.original(agent) as Agent]);
    for (const { handoffs, tools } of reached) {
      for (const handoff of handoffs) {
        const { agent: next = handoff } = handoff as { readonly agent?: object };
        reached.add(this.original(next as object) as Agent);
      }
      if (!throughTools) continue;
      for (const tool of tools) {
        const inner = this.#agents.get((tool as FunctionTool).invoke ?? tool);
        if (inner !== undefined) reached.add(inner);
      }
    }
    return reached;
  }
}

import { type AgentOptions, type Framework, type Gate, withMethods } from '../adapters/index.ts';
import { invalidArgument, PhasegateError } from '../errors.ts';
import type { Run } from '../run.ts';
import type { Tool, ToolWrapper } from './tools.ts';

/** An agent, as Mastra's `Agent` is one. */
export interface Agent {
  generate(messages: never, options?: never): unknown;
  stream(messages: never, options?: never): unknown;
}

type Tools = Readonly<Record<string, Tool>>;

/** What of the options of an invocation is looked at. */
interface Options {
  readonly abortSignal?: AbortSignal;
  readonly requestContext?: unknown;
  readonly toolsets?: Readonly<Record<string, Tools>>;
  readonly clientTools?: Tools;
  readonly prepareStep?: (step: Step) => unknown;
  readonly hooks?: Hooks;
}

interface Step {
  readonly tools?: Tools;
}

interface Hooks {
  readonly beforeToolCall?: ((context: HookContext) => unknown) | undefined;
}

interface HookContext {
  readonly toolName: string;
  readonly context: unknown;
}

/** What of an agent is looked at besides. */
interface Whole extends Agent {
  getDefaultOptions?(of: object): Options | PromiseLike<Options>;
  getConfiguredToolHooks?(): Hooks | undefined;
  listTools?(of: object): Tools | PromiseLike<Tools>;
  listAgents?(of: object): Readonly<Record<string, object>> | PromiseLike<Readonly<Record<string, object>>>;
}

type Method = (...args: unknown[]) => unknown;

/** How Mastra streams. That an invocation was aborted it tells as if it had ended well, so whoever reads is told here. */
export const framework: Framework = {
  hasStreams: (result) => 'fullStream' in result,
};

/** The ways to invoke an agent, and which of their parameters the options are. */
const INVOCATIONS: Readonly<Record<string, number>> = {
  generate: 1,
  stream: 1,
  streamUntilIdle: 1,
  resumeGenerate: 1,
  resumeStream: 1,
  resumeStreamUntilIdle: 1,
  approveToolCall: 0,
  approveToolCallGenerate: 0,
  declineToolCall: 0,
  declineToolCallGenerate: 0,
};

/** Those whose calls cannot be asked for: they know no `prepareStep`, or work when they have returned. */
const CLOSED = [
  ...['generateLegacy', 'streamLegacy'],
  ...['network', 'resumeNetwork', 'approveNetworkToolCall', 'declineNetworkToolCall'],
  ...['sendMessage', 'queueMessage', 'sendSignal', 'sendStateSignal', 'sendNotificationSignal'],
  ...['sendStreamResume', 'sendToolApproval', 'prepare', 'resume', 'recover', 'recoverActiveRuns'],
];

/** Makes the invocations of agents runs. */
export class AgentWrapper {
  readonly #gate: Gate;
  readonly #tools: ToolWrapper;
  readonly #wrapped = new WeakSet<object>();

  constructor(gate: Gate, tools: ToolWrapper) {
    this.#gate = gate;
    this.#tools = tools;
  }

  /** An agent of which each invocation is a run, and which is for the rest as it was. */
  wrap<A extends Agent>(agent: A, options: AgentOptions = {}): A {
    if (typeof agent?.generate !== 'function' || typeof agent.stream !== 'function') {
      throw invalidArgument('agent', 'an agent of Mastra', agent);
    }
    const methods: Record<string, Method> = {};
    for (const name of CLOSED) if (name in agent) methods[name] = () => rejectMethod(name);
    for (const [name, at] of Object.entries(INVOCATIONS)) {
      const method = (agent as unknown as Record<string, Method | undefined>)[name];
      if (typeof method !== 'function') continue;
      methods[name] = (...args) => this.#invoke(agent, method, args, at, options);
    }
    const wrapped = withMethods(agent, methods);
    this.#wrapped.add(wrapped);
    return wrapped;
  }

  async #invoke(agent: Whole, method: Method, args: unknown[], at: number, options: AgentOptions) {
    const given = (args[at] ?? {}) as Options;
    const { requestContext } = given;
    const defaults = (await agent.getDefaultOptions?.({ requestContext })) ?? {};
    this.#rejectUnsupervised((await agent.listAgents?.({ requestContext })) ?? {});
    const invoke = (run: Run) => {
      const all = [...args];
      all[at] = this.#optionsOf(agent, run, { ...defaults, ...given }, given);
      return method.apply(agent, all);
    };
    const signal = given.abortSignal ?? defaults.abortSignal;
    return await this.#gate.invoke(invoke, { ...options, signal });
  }

  #optionsOf(agent: Whole, run: Run, all: Options, given: Options): Options {
    const { prepareStep, toolsets, clientTools } = all;
    const hooks = { ...agent.getConfiguredToolHooks?.(), ...all.hooks };
    return {
      ...given,
      abortSignal: run.signal,
      ...(toolsets && {
        toolsets: Object.fromEntries(
          Object.entries(toolsets).map(([name, tools]) => [name, this.#tools.wrapAll(tools)]),
        ),
      }),
      ...(clientTools && { clientTools: this.#tools.wrapAll(clientTools) }),
      // The last to see the tools of a turn, wherever they come from.
      prepareStep: async (step) => {
        const prepared = ((await prepareStep?.(step)) ?? {}) as Step;
        const tools = prepared.tools ?? step.tools;
        return { ...prepared, ...(tools && { tools: this.#tools.wrapTurn(tools, run) }) };
      },
      hooks: {
        ...all.hooks,
        beforeToolCall: async (context) => {
          await this.#rejectUnasked(agent, context, given);
          return await hooks.beforeToolCall?.(context);
        },
      },
    };
  }

  /** A call that an invocation resumes whose turn another process prepared. */
  async #rejectUnasked(agent: Whole, { toolName, context }: HookContext, { requestContext }: Options) {
    if (this.#tools.admitted(context)) return;
    const tools = (await agent.listTools?.({ requestContext })) ?? {};
    if (this.#tools.has(tools[toolName])) return;
    throw new PhasegateError(
      'unsupervised-tool',
      `${toolName} is not under enforcement where it is resumed. Make the agent with tools: gate.tools(…)`,
    );
  }

  #rejectUnsupervised(agents: Readonly<Record<string, object>>): void {
    const names = Object.keys(agents).filter((name) => !this.#wrapped.has(agents[name] as object));
    if (names.length === 0) return;
    throw new PhasegateError(
      'unsupervised-agent',
      `The agent can delegate to agents that are not under enforcement: ${names.join(', ')}. ` +
        'Make it with agents: { name: gate.agent(…) }',
    );
  }
}

function rejectMethod(name: string): never {
  throw new PhasegateError(
    'unsupervised-method',
    `What ${name} does is not under enforcement: ask the agent with generate or stream`,
  );
}

import { type Framework, type Gate, type ShowRefusal, signalFor } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { findToolExecutionBlocked, invalidArgument, type ToolExecutionBlocked } from '../errors.ts';
import { superviseLocal } from './local.ts';
import { type McpServer, superviseServer } from './mcp.ts';

/** What of a tool is looked at. */
export interface Tool {
  readonly type: string;
  readonly name: string;
}

/** A tool with a function behind it, as `tool()` makes them. */
export interface FunctionTool extends Tool {
  readonly type: 'function';
  invoke(context: never, input: string, details?: never): Promise<unknown>;
}

/** What makes a tool of options, as `tool` does. */
export type ToolFactory = (options: never) => Tool;

/** What the SDK hands to a body besides its input. */
export interface CallDetails {
  readonly toolCall?: { readonly callId?: string };
  readonly signal?: AbortSignal;
}

/** What the SDK hands to all bodies of an invocation. */
export interface Context {
  readonly usage?: { readonly requests?: number; readonly totalTokens?: number };
}

/** What a tool says of its results. */
interface ResultOptions {
  readonly outputSchema?: unknown;
  readonly errorFunction?: (context: Context | undefined, error: unknown, details?: CallDetails) => unknown;
}

interface ToolOptions extends ResultOptions {
  readonly name?: string;
  readonly execute: (input: unknown, context?: Context, details?: CallDetails) => unknown;
}

type Invoke = (context: Context | undefined, input: string, details?: CallDetails) => Promise<unknown>;

/** How the SDK streams: the streams of a `StreamedRunResult` end by themselves when it is aborted. */
export const framework: Framework = {
  hasStreams: (result) => 'toTextStream' in result,
  endsAbortedStreams: true,
};

/** Puts tools of the OpenAI Agents SDK under enforcement, each once. */
export class ToolWrapper {
  readonly #gate: Gate;
  // By what the SDK calls of a tool: that is kept where tools are copied, such as into a namespace.
  readonly #supervised = new WeakSet<object>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  /** @returns A function that makes the tools that the other one makes, with their bodies under enforcement. */
  wrapFactory<F extends ToolFactory>(factory: F): F {
    if (typeof factory !== 'function') throw invalidArgument('factory', 'the function tool', factory);
    const make = factory as unknown as (options: object) => FunctionTool;
    const supervised = (options: ToolOptions): Tool => {
      const body = options?.execute;
      if (typeof body !== 'function') throw invalidArgument('execute', 'a function', body);
      let name = '';
      const execute: ToolOptions['execute'] = (input, context, details) =>
        this.#execute(name, options, input, context, details);
      const tool = make({ ...options, name: options.name ?? body.name, execute });
      name = tool.name;
      this.add(tool.invoke);
      return tool;
    };
    return supervised as unknown as F;
  }

  /** Wraps what has been made already: as the SDK sees it, from outside. */
  wrapAll<T extends readonly Tool[]>(tools: T): T {
    if (!Array.isArray(tools)) throw invalidArgument('tools', 'an array of tools', tools);
    return tools.map((tool, index) => this.#wrap(tool, `tools[${index}]`)) as unknown as T;
  }

  /** @returns The server, whose tools are called when they are admitted. */
  wrapServer<S extends McpServer>(server: S): S {
    if (this.#supervised.has(server)) return server;
    const wrapped = superviseServer(this.#gate, server);
    this.add(wrapped);
    return wrapped;
  }

  isServerSupervised(server: object): boolean {
    return this.#supervised.has(server);
  }

  /** What is under enforcement from now on. */
  add(supervised: object): void {
    this.#supervised.add(supervised);
  }

  /** Whether a tool may be given to an agent: it is under enforcement, or the provider's, with nothing behind it here. */
  isSupervised(tool: Tool): boolean {
    const runs = runsCode(tool);
    return runs === undefined || this.#supervised.has(runs);
  }

  /**
   * Asks for a call as the SDK makes it.
   *
   * @param show Of a refusal; the text of it, if not given, is the result of the call.
   */
  async call(
    tool: string,
    args: unknown,
    context: Context | undefined,
    details: CallDetails | undefined,
    body: (call: Call, details: CallDetails) => unknown,
    show: ShowRefusal<unknown> = (text) => text,
  ): Promise<unknown> {
    const request = { tool, args, callId: details?.toolCall?.callId, turn: turnOf(context) };
    let started = false;
    const inside = (call: Call) => {
      started = true;
      // It may have waited its turn for longer than the SDK waits for it.
      details?.signal?.throwIfAborted();
      return body(call, withSignal(details, signalFor(call, details?.signal)));
    };
    try {
      return await this.#gate.call<unknown>(request, inside, show);
    } catch (error) {
      const blocked = started ? undefined : findToolExecutionBlocked(error);
      // The SDK would say that an error has occurred, and not which.
      if (blocked?.code === 'no-active-run') return `${blocked.message}. ${blocked.hint}`;
      throw error;
    }
  }

  #execute(
    name: string,
    options: ToolOptions,
    input: unknown,
    context: Context | undefined,
    details: CallDetails | undefined,
  ): Promise<unknown> {
    const body = (_: Call, inside: CallDetails) => options.execute(input, context, inside);
    return this.call(name, input, context, details, body, (text, blocked) => {
      const shown = this.#shown(options, text, blocked);
      // The SDK hands it to the `errorFunction`.
      if (shown instanceof Error) throw shown;
      return shown;
    });
  }

  /**
   * What a tool has for an answer when it is refused: a text, or, if it has an output schema, what its `errorFunction` makes
   * of an error. Without that there is none, and the refusal aborts the run.
   */
  #shown(
    { outputSchema, errorFunction }: ResultOptions,
    text: string,
    blocked: ToolExecutionBlocked,
  ): unknown {
    if (outputSchema === undefined) return text;
    if (typeof errorFunction === 'function') return new Error(text, { cause: blocked });
    this.#gate.enforcement.currentRun()?.abort(blocked);
    throw blocked;
  }

  #wrap(tool: Tool, place: string): Tool {
    if (typeof tool?.type !== 'string') throw invalidArgument(place, 'a tool', tool);
    if (this.isSupervised(tool)) return tool;
    const wrapped = withOwn(tool, this.#ownOf(tool, place));
    this.add(runsCode(wrapped) as object);
    return wrapped;
  }

  #ownOf(tool: Tool, place: string): object {
    const { name, type } = tool;
    const local = runsCode(tool) as object;
    if (type === 'shell') return { shell: superviseLocal(this.#gate, name, 'shell', local) };
    if (type === 'apply_patch') return { editor: superviseLocal(this.#gate, name, 'editor', local) };
    if (type !== 'function') throw invalidArgument(place, 'a function tool, a shell or an editor', tool);
    if ('on' in tool) {
      throw invalidArgument(place, 'made by gate.agent(agent).asTool(…), not by agent.asTool(…)', tool);
    }
    return { invoke: this.#invoke(tool as FunctionTool & ResultOptions) };
  }

  #invoke(tool: FunctionTool & ResultOptions): Invoke {
    const invoke = tool.invoke as Invoke;
    return (context, input, details) => {
      const body = (_: Call, inside: CallDetails) => invoke.call(tool, context, input, inside);
      return this.call(tool.name, parsed(input), context, details, body, (text, blocked) => {
        const shown = this.#shown(tool, text, blocked);
        return shown instanceof Error ? tool.errorFunction?.(context, shown, details) : shown;
      });
    };
  }
}

/** What the SDK calls of a tool, if that runs code here. */
function runsCode(tool: Tool): object | undefined {
  const { invoke, shell, editor, computer } = tool as unknown as Partial<Record<string, object>>;
  return invoke ?? shell ?? editor ?? computer;
}

/** The same for all calls of a turn: how much has been asked of the model until then. `undefined` where nobody counts. */
function turnOf(context: Context | undefined): string | undefined {
  const { requests = 0, totalTokens = 0 } = context?.usage ?? {};
  return requests + totalTokens > 0 ? `${requests}/${totalTokens}` : undefined;
}

/** A copy that has these members instead: what else the SDK has put there, it finds. */
export function withOwn<T extends object>(object: T, members: object): T {
  return Object.create(Object.getPrototypeOf(object), {
    ...Object.getOwnPropertyDescriptors(object),
    ...Object.getOwnPropertyDescriptors(members),
  });
}

function withSignal(details: CallDetails | undefined, signal: AbortSignal): CallDetails {
  return withOwn(details ?? {}, { signal });
}

export function parsed(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

import { ToolMessage } from '@langchain/core/messages';
import { type Gate, signalFor, throwRefusal } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { invalidArgument } from '../errors.ts';
import { endByControl, isControl } from './control.ts';

/** What of a tool is looked at. One without `invoke` is executed by the provider: no code of yours runs. */
export interface Tool {
  readonly name?: unknown;
  readonly type?: unknown;
  readonly invoke?: ((...args: never) => unknown) | undefined;
}

/** A tool call of a model, as tools are invoked with it; or its arguments alone, when code invokes them. */
interface ToolCall {
  readonly type: 'tool_call';
  readonly id?: string | null;
  readonly args: unknown;
}

/** What of the configuration of an invocation is looked at. */
interface Config {
  readonly signal?: AbortSignal;
  readonly metadata?: { readonly langgraph_step?: unknown; readonly langgraph_checkpoint_ns?: unknown };
}

type Method = (this: unknown, input: unknown, config?: Config, ...rest: unknown[]) => unknown;

/** A tool that runs here. */
interface Runnable {
  readonly name: string;
  readonly invoke: Method;
  /** The older name of `invoke`. */
  readonly call?: Method;
}

/** Puts tools of LangChain under enforcement, each once. */
export class ToolWrapper {
  readonly #gate: Gate;
  readonly #wrapped = new WeakSet<object>();
  // What middleware is handed in each call is the same tool.
  readonly #wrappers = new WeakMap<object, Tool>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  wrapAll<T extends readonly Tool[]>(tools: T): T {
    if (!Array.isArray(tools)) throw invalidArgument('tools', 'an array of tools', tools);
    return tools.map((tool: Tool, index) => this.wrap(tool, `tools[${index}]`)) as unknown as T;
  }

  wrap<T extends Tool>(tool: T, name = 'tool'): T {
    if (typeof tool !== 'object' || tool === null) throw invalidArgument(name, 'a tool', tool);
    if (typeof tool.invoke !== 'function' || this.#wrapped.has(tool)) return tool;
    if (typeof tool.name !== 'string' || tool.name === '') {
      throw invalidArgument(`${name}.name`, 'the name of a tool', tool.name);
    }
    const known = this.#wrappers.get(tool);
    if (known !== undefined) return known as T;
    const wrapped = this.#wrap(tool as unknown as Runnable);
    this.#wrapped.add(wrapped);
    this.#wrappers.set(tool, wrapped);
    return wrapped as unknown as T;
  }

  /** The names of those that would run without being asked for. */
  unwrapped(tools: readonly unknown[]): string[] {
    return (tools as readonly (Tool | null | undefined)[])
      .filter((tool) => typeof tool?.invoke === 'function' && !this.#wrapped.has(tool))
      .map((tool) => String(tool?.name));
  }

  #wrap(tool: Runnable): Runnable {
    const guarded = (method: Method): PropertyDescriptor => ({
      value: (input: unknown, config?: Config, ...rest: unknown[]) =>
        this.#invoke(tool, input, config, (call) => {
          // What an older signature takes in place of a configuration is left alone.
          const own =
            method === tool.invoke ? { ...config, signal: signalFor(call, config?.signal) } : config;
          return method.call(tool, input, own, ...rest);
        }),
      configurable: true,
      writable: true,
    });
    // All that a tool can do besides goes through one of these: of the object that is made here.
    return Object.create(Object.getPrototypeOf(tool), {
      ...Object.getOwnPropertyDescriptors(tool),
      invoke: guarded(tool.invoke),
      ...(typeof tool.call === 'function' && { call: guarded(tool.call) }),
    });
  }

  #invoke(
    tool: Runnable,
    input: unknown,
    config: Config | undefined,
    body: (call: Call) => unknown,
  ): Promise<unknown> {
    const asked = isToolCall(input) ? input : undefined;
    const request = {
      tool: tool.name,
      args: asked === undefined ? input : asked.args,
      callId: asked?.id ?? undefined,
      turn: turnOf(config),
    };
    const { enforcement } = this.#gate;
    return this.#gate.call<unknown>(
      request,
      async (call) => {
        try {
          return await body(call);
        } catch (error) {
          if (isControl(error)) endByControl(enforcement, call, error);
          throw error;
        }
      },
      // Returned, so that nothing takes it for a fault of the tool, and tries again.
      asked === undefined ? throwRefusal : (text) => refusalMessage(text, tool.name, asked),
    );
  }
}

/** An error as a graph tells a model of it. */
export function errorMessage(content: string, name: string, id: string | null | undefined): ToolMessage {
  return new ToolMessage({ content, name, tool_call_id: id ?? '', status: 'error' });
}

function refusalMessage(text: string, name: string, { id }: ToolCall): ToolMessage {
  return errorMessage(`Error: ${text}`, name, id);
}

function isToolCall(input: unknown): input is ToolCall {
  return (input as ToolCall | null)?.type === 'tool_call';
}

/** Calls of one turn of the model are made in one step of one graph. */
function turnOf(config: Config | undefined): string | undefined {
  const { langgraph_step: step, langgraph_checkpoint_ns: path } = config?.metadata ?? {};
  if (typeof step !== 'number') return undefined;
  // The last part of the path is the call itself.
  const graph = typeof path === 'string' ? path.split('|').slice(0, -1).join('|') : '';
  return `${graph} ${step}`;
}

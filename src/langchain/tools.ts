import { ToolMessage } from '@langchain/core/messages';
import { type Gate, signalFor, type ToolRequest, throwRefusal } from '../adapters/index.ts';
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
  readonly #originals = new WeakMap<object, Tool>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  wrapAll<T extends readonly Tool[]>(tools: T): T {
    if (!Array.isArray(tools)) throw invalidArgument('tools', 'an array of tools', tools);
    return tools.map((tool: Tool, index) => this.#wrap(tool, `tools[${index}]`)) as unknown as T;
  }

  /** The names of those that would run without being asked for. */
  unwrapped(tools: readonly unknown[]): string[] {
    return (tools as readonly (Tool | null | undefined)[])
      .filter((tool) => typeof tool?.invoke === 'function' && !this.#originals.has(tool))
      .map((tool) => String(tool?.name));
  }

  /** The tool as it was, for somebody who has asked already. */
  original(tool: Tool): Tool {
    return this.#originals.get(tool) ?? tool;
  }

  /**
   * Asks for a call.
   *
   * @param forModel Whether a refusal is a result, which a model reads, or an error, as code expects it.
   */
  ask(request: ToolRequest, body: (call: Call) => unknown, forModel: boolean): Promise<unknown> {
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
      // Not thrown, so that nothing takes it for a fault of the tool, and tries again.
      forModel ? (text) => errorMessage(`Error: ${text}`, request.tool, request.callId) : throwRefusal,
    );
  }

  #wrap(tool: Tool, name: string): Tool {
    if (typeof tool !== 'object' || tool === null) throw invalidArgument(name, 'a tool', tool);
    if (typeof tool.invoke !== 'function' || this.#originals.has(tool)) return tool;
    if (typeof tool.name !== 'string' || tool.name === '') {
      throw invalidArgument(`${name}.name`, 'the name of a tool', tool.name);
    }
    const { invoke, call } = tool as unknown as Runnable;
    // All that a tool can do besides goes through one of these: of the object that is made here.
    const wrapped: Tool = Object.create(Object.getPrototypeOf(tool), {
      ...Object.getOwnPropertyDescriptors(tool),
      invoke: this.#asking(tool as unknown as Runnable, invoke),
      ...(typeof call === 'function' && { call: this.#asking(tool as unknown as Runnable, call) }),
    });
    this.#originals.set(wrapped, tool);
    return wrapped;
  }

  #asking(tool: Runnable, method: Method): PropertyDescriptor {
    const asking: Method = (input, config, ...rest) => {
      const asked = isToolCall(input) ? input : undefined;
      const request = {
        tool: tool.name,
        args: asked === undefined ? input : asked.args,
        callId: asked?.id ?? undefined,
        turn: turnOf(config),
      };
      const body = (call: Call) => {
        // What the older signature takes in place of a configuration is left alone.
        const own = method === tool.invoke ? { ...config, signal: signalFor(call, config?.signal) } : config;
        return method.call(tool, input, own, ...rest);
      };
      return this.ask(request, body, asked !== undefined);
    };
    return { value: asking, configurable: true, writable: true };
  }
}

/** An error as a graph tells a model of it. */
export function errorMessage(content: string, name: string, id: string | undefined): ToolMessage {
  return new ToolMessage({ content, name, tool_call_id: id ?? '', status: 'error' });
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

import {
  type Framework,
  type Gate,
  isAsyncIterable,
  Relay,
  signalFor,
  throwRefusal,
} from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';

/** What of a tool is looked at: the function that is its body, if it has one here. */
export interface Tool {
  readonly execute?: ((...args: never) => unknown) | undefined;
}

/** What the AI SDK hands to a body besides its input. */
interface ExecuteOptions {
  readonly toolCallId?: string;
  /** The messages that the model had before it: of one list for all calls of a turn. */
  readonly messages?: unknown;
  readonly abortSignal?: AbortSignal;
}

type Execute = (this: unknown, input: unknown, options?: ExecuteOptions) => unknown;

/** How the AI SDK streams: what `streamText` returns has streams in it, and ends them by itself when it is aborted. */
export const framework: Framework = {
  hasStreams: (result) => 'textStream' in result,
  endsAbortedStreams: true,
};

/** Puts tools of the AI SDK under enforcement, each once. */
export class ToolWrapper {
  readonly #gate: Gate;
  readonly #wrapped = new WeakSet<object>();
  // A function may return an iterable or not, and how it was is known when it has been called.
  readonly #iterating = new WeakSet<object>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  wrapAll<T extends Readonly<Record<string, Tool>>>(tools: T): T {
    if (typeof tools !== 'object' || tools === null) {
      throw invalidArgument('tools', 'an object with a tool under each name', tools);
    }
    return Object.fromEntries(
      Object.entries(tools).map(([name, tool]) => [name, this.#wrap(name, tool)]),
    ) as T;
  }

  /** The names of those that would run without being asked for. */
  unwrapped(tools: unknown): string[] {
    return Object.entries((tools ?? {}) as Record<string, Tool | undefined>)
      .filter(([, tool]) => typeof tool?.execute === 'function' && !this.#wrapped.has(tool))
      .map(([name]) => name);
  }

  #wrap(name: string, tool: Tool): Tool {
    if (typeof tool !== 'object' || tool === null) throw invalidArgument(`tools.${name}`, 'a tool', tool);
    if (typeof tool.execute !== 'function' || this.#wrapped.has(tool)) return tool;
    const execute = (input: unknown, options?: ExecuteOptions) => this.#execute(name, tool, input, options);
    const wrapped = Object.create(Object.getPrototypeOf(tool), {
      ...Object.getOwnPropertyDescriptors(tool),
      execute: { value: execute, enumerable: true, configurable: true, writable: true },
    });
    this.#wrapped.add(wrapped);
    return wrapped;
  }

  #execute(name: string, tool: Tool, input: unknown, options: ExecuteOptions = {}): unknown {
    const body = tool.execute as Execute;
    const relay = new Relay<unknown>();
    let iterates = this.#iterating.has(body) || isGeneratorFunction(body);
    let promised = false;
    const request = { tool: name, args: input, callId: options.toolCallId, turn: options.messages };
    const outcome = this.#gate.call<unknown>(
      request,
      (call) => {
        const result = body.call(tool, input, {
          ...options,
          abortSignal: signalFor(call, options.abortSignal),
        });
        if (isAsyncIterable(result)) this.#iterating.add(body);
        else return iterates ? relay.drain(onlyOf(result), call.signal) : result;
        if (promised) return lastOf(result);
        iterates = true;
        return relay.drain(result, call.signal);
      },
      throwRefusal,
    );
    // An iterable has to be returned at once. Of one that comes when the call has waited its turn, and was not expected, the
    // AI SDK gets the last piece, which is what it takes for the result.
    promised = !iterates;
    if (promised) return outcome;
    outcome.then(
      () => relay.close(),
      (error) => relay.close({ error }),
    );
    return relay;
  }
}

async function* onlyOf(result: unknown): AsyncIterable<unknown> {
  yield await result;
}

async function lastOf(pieces: AsyncIterable<unknown>): Promise<unknown> {
  let last: unknown;
  for await (const piece of pieces) last = piece;
  return last;
}

function isGeneratorFunction(body: object): boolean {
  return Object.prototype.toString.call(body) === '[object AsyncGeneratorFunction]';
}

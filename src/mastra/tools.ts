import { type Gate, signalFor, throwRefusal } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { innermostCall } from '../context.ts';
import { invalidArgument } from '../errors.ts';
import type { Run } from '../run.ts';

/** What of a tool is looked at: the function that is its body, if it has one here. */
export interface Tool {
  readonly execute?: ((...args: never) => unknown) | undefined;
}

/** What Mastra hands to a body besides its input: to a tool's own with `agent`, to that of a step's tool without. */
interface Context {
  abortSignal?: AbortSignal;
  readonly toolCallId?: string;
  readonly agent?: { readonly toolCallId?: string };
}

type Execute = (this: unknown, input: unknown, context?: Context) => unknown;

type Tools = Readonly<Record<string, Tool>>;

/** Puts tools of Mastra under enforcement, each once. */
export class ToolWrapper {
  readonly #gate: Gate;
  readonly #wrapped = new WeakSet<object>();
  /** Calls that were asked for around a tool whose own body, which asks too, has not started; with its name. */
  readonly #asked = new WeakMap<Call, string>();
  readonly #admitted = new WeakSet<object>();

  constructor(gate: Gate) {
    this.#gate = gate;
  }

  wrapAll<T extends Tools>(tools: T): T {
    if (typeof tools !== 'object' || tools === null) {
      throw invalidArgument('tools', 'an object with a tool under each name', tools);
    }
    return mapTools(tools, (name, tool) => {
      if (this.#wrapped.has(tool)) return tool;
      const wrapped = withExecute(tool, (input, context) => this.#execute(name, tool, input, context));
      this.#wrapped.add(wrapped);
      return wrapped;
    });
  }

  /** Whether a tool asks for its calls by itself. */
  has(tool: unknown): boolean {
    return typeof tool === 'object' && tool !== null && this.#wrapped.has(tool);
  }

  /** Whether a call was asked for that was made with this context. */
  admitted(context: unknown): boolean {
    return typeof context === 'object' && context !== null && this.#admitted.has(context);
  }

  /** The tools that a model is given in a turn, whatever they are and wherever they come from, under enforcement. */
  wrapTurn(tools: Tools, run: Run): Tools {
    const turn = {};
    return mapTools(tools, (name, tool) =>
      withExecute(tool, (input, context = {}) => {
        const body = async (call: Call) => {
          const within = { ...context, abortSignal: signalFor(call, context.abortSignal) };
          this.#admitted.add(within);
          this.#asked.set(call, name);
          return resultOf(await bodyOf(tool).call(tool, input, within));
        };
        // Where what is left of a run goes on in another, it belongs to that.
        const current = this.#gate.enforcement.currentRun() ?? run;
        const request = { tool: name, args: input, callId: context.toolCallId, turn, run: current };
        return this.#gate.call<unknown>(request, body, throwRefusal).catch(unwrapInvalid);
      }),
    );
  }

  #execute(name: string, tool: Tool, input: unknown, context: Context | undefined): unknown {
    const around = innermostCall();
    // Between the two Mastra works, and the run may have ended meanwhile: then it is asked again, and refuses.
    if (around !== null && this.#asked.get(around) === name && !around.run.state.finished) {
      this.#asked.delete(around);
      return bodyOf(tool).call(tool, input, context);
    }
    const body = async (call: Call) =>
      resultOf(await bodyOf(tool).call(tool, input, contextOf(call, context)));
    const callId = context?.agent?.toolCallId ?? context?.toolCallId;
    return this.#gate
      .call<unknown>({ tool: name, args: input, callId }, body, throwRefusal)
      .catch(unwrapInvalid);
  }
}

function mapTools<T extends Tools>(tools: T, wrap: (name: string, tool: Tool) => Tool): T {
  const entries = Object.entries(tools).map(([name, tool]) => {
    if (typeof tool !== 'object' || tool === null) throw invalidArgument(`tools.${name}`, 'a tool', tool);
    return [name, typeof tool.execute === 'function' ? wrap(name, tool) : tool];
  });
  return Object.fromEntries(entries) as T;
}

function withExecute(tool: Tool, execute: Execute): Tool {
  return Object.create(Object.getPrototypeOf(tool), {
    ...Object.getOwnPropertyDescriptors(tool),
    execute: { value: execute, enumerable: true, configurable: true, writable: true },
  });
}

function bodyOf(tool: Tool): Execute {
  return tool.execute as Execute;
}

/** The very object that Mastra made: by its identity it knows that the input has been checked, and must not be again. */
function contextOf(call: Call, context: Context | undefined): Context {
  if (context === undefined) return { abortSignal: call.signal };
  context.abortSignal = signalFor(call, context.abortSignal);
  return context;
}

/** Thrown where Mastra returns, so that the call has failed: its input, or its result, did not fit the schema. */
class Invalid {
  readonly result: unknown;

  constructor(result: unknown) {
    this.result = result;
  }
}

function resultOf(result: unknown): unknown {
  const { error, validationErrors } = (result ?? {}) as { error?: unknown; validationErrors?: unknown };
  if (error === true && validationErrors !== undefined) throw new Invalid(result);
  return result;
}

function unwrapInvalid(error: unknown): unknown {
  if (error instanceof Invalid) return error.result;
  throw error;
}

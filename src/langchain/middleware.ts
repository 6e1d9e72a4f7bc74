import type { Call } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';
import { isControl } from './control.ts';
import { errorMessage, type Tool, type ToolWrapper } from './tools.ts';

/** What of a middleware is looked at. */
export interface Middleware {
  readonly name: string;
  readonly wrapToolCall?: ((...args: never) => unknown) | undefined;
  readonly tools?: unknown;
}

/** A tool call as middleware is handed it. */
export interface ToolCallRequest {
  readonly toolCall: {
    readonly name: string;
    readonly id?: string | undefined;
    readonly args?: unknown;
  };
  /** Missing when the agent has no tool of that name. */
  readonly tool?: unknown;
  readonly state?: unknown;
}

/** Asks for each call before its body starts, whichever tool it is one of. */
export interface GateMiddleware {
  readonly name: 'phasegate';
  wrapToolCall<R extends ToolCallRequest, T>(
    request: R,
    handler: (request: R) => T | PromiseLike<T>,
  ): Promise<T>;
}

// By which the framework knows a middleware.
const BRAND = Symbol.for('AgentMiddleware');
const guards = new WeakSet<object>();

/**
 * Middleware that asks for each call. It has to be the innermost: a tool that another puts in is seen then, and each try of
 * one that tries again is a call.
 *
 * @param alone Whether no other wraps calls. Of errors that pass through any middleware an agent dies, so those that it would
 *   have told the model of without this one are told here.
 */
export function middlewareOf(enforcement: Enforcement, wrapper: ToolWrapper, alone: boolean): GateMiddleware {
  const middleware: GateMiddleware = {
    name: 'phasegate',
    async wrapToolCall<R extends ToolCallRequest, T>(
      request: R,
      handler: (request: R) => T | PromiseLike<T>,
    ): Promise<T> {
      const { toolCall, state } = request;
      const tool = request.tool as Tool | undefined;
      const { name, id } = toolCall;
      try {
        const asked = { tool: name, args: toolCall.args, callId: id, turn: turnOf(state) };
        const body = async (call: Call) => {
          if (tool !== undefined) return await handler({ ...request, tool: wrapper.original(tool) });
          const result = await handler(request);
          // The framework tells the model that there is no such tool, or has found one after all.
          if (isError(result)) call.run.failCall(call);
          return result;
        };
        return (await wrapper.ask(asked, body, true)) as T;
      } catch (error) {
        // An aborted run has ended: what ended it is no matter of the model.
        if (!alone || isControl(error) || enforcement.currentRun()?.state.finished) throw error;
        return errorMessage(textOf(error), name, id) as T;
      }
    },
  };
  guards.add(middleware);
  return Object.assign(middleware, { [BRAND]: true });
}

/** Whether every call of an agent goes through the middleware of a gate. */
export function guardsAll(middleware: readonly Middleware[]): boolean {
  const innermost = middleware.findLast(({ wrapToolCall }) => wrapToolCall !== undefined);
  return innermost !== undefined && guards.has(innermost);
}

/** Calls of one turn of the model are asked for in one message. */
function turnOf(state: unknown): unknown {
  const { messages } = (state ?? {}) as { readonly messages?: unknown };
  if (!Array.isArray(messages)) return undefined;
  const asking = messages.findLast((message) => message?.type === 'ai');
  // An id may be of the framework's or the model's making, and the same again: so where it stands counts too.
  return asking?.id === undefined ? messages : `${asking.id}/${messages.length}`;
}

function isError(result: unknown): boolean {
  return (result as { readonly status?: unknown } | null)?.status === 'error';
}

/** In the words of the framework. */
function textOf(error: unknown): string {
  // Arguments that do not fit: it asks for a correction by itself.
  const told =
    error instanceof Error && (error as { '~brand'?: unknown })['~brand'] === 'ToolInvocationError';
  return told ? error.message : `${error}\n Please fix your mistakes.`;
}

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
  readonly toolCall: { readonly name: string; readonly id?: string | undefined };
  /** Missing when the agent has no tool of that name. */
  readonly tool?: unknown;
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
 * Middleware that puts whatever tool it is handed under enforcement. It has to be the innermost: what another brings in is
 * seen then, and each try of one that tries again is a call.
 *
 * @param alone Whether no other wraps calls. Of errors that pass through any middleware an agent dies, so those that it would
 *   have told the model of without this one are told here.
 */
export function middlewareOf(enforcement: Enforcement, wrapper: ToolWrapper, alone: boolean): GateMiddleware {
  const middleware: GateMiddleware = {
    name: 'phasegate',
    async wrapToolCall(request, handler) {
      const { tool, toolCall } = request;
      try {
        const guarded = tool === undefined ? request : { ...request, tool: wrapper.wrap(tool as Tool) };
        return await handler(guarded);
      } catch (error) {
        // An aborted run has ended: what ended it is no matter of the model.
        if (!alone || isControl(error) || enforcement.currentRun()?.state.finished) throw error;
        return errorMessage(textOf(error), toolCall.name, toolCall.id) as never;
      }
    },
  };
  guards.add(middleware);
  return Object.assign(middleware, { [BRAND]: true });
}

/** Whether every call of an agent goes through the gate's middleware. */
export function guardsAll(middleware: readonly Middleware[]): boolean {
  const innermost = middleware.findLast(({ wrapToolCall }) => wrapToolCall !== undefined);
  return innermost !== undefined && guards.has(innermost);
}

/** In the words of the framework. */
function textOf(error: unknown): string {
  // Arguments that do not fit: it asks for a correction by itself.
  const told =
    error instanceof Error && (error as { '~brand'?: unknown })['~brand'] === 'ToolInvocationError';
  return told ? error.message : `${error}\n Please fix your mistakes.`;
}

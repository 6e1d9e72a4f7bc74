import { signalFor } from '../adapters/index.ts';
import type { Call } from '../call.ts';

/** Where in `_meta` of a call its run is named. */
export const RUN_KEY = 'phasegate/run';
/** Where in `_meta` of a call the id is that the model gave it. */
const CALL_KEY = 'phasegate/call';

/** What of a request is looked at: the `extra` of version 1, or the context of version 2, that a handler is handed last. */
export interface RequestExtra {
  readonly sessionId: string | undefined;
  readonly authInfo: AuthInfo | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal | undefined;
  /** Whether it came over HTTP, where a connection is no session. */
  readonly http: boolean;
  /** As the handler is handed it. */
  readonly given: object;
}

/** Whom an access token is of. */
export interface AuthInfo {
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
}

interface Version1 {
  readonly sessionId?: string;
  readonly signal?: AbortSignal;
  readonly _meta?: Record<string, unknown>;
  readonly authInfo?: AuthInfo;
  readonly requestInfo?: unknown;
}

interface Version2 {
  readonly sessionId?: string;
  readonly mcpReq: { readonly signal?: AbortSignal; readonly _meta?: Record<string, unknown> };
  readonly http?: { readonly req?: unknown; readonly authInfo?: AuthInfo };
}

/** @param given The last parameter of a handler. @returns `undefined` when it is nothing of the kind. */
export function readExtra(given: unknown): RequestExtra | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  if (isVersion2(given)) {
    const { sessionId, mcpReq, http } = given;
    const { signal, _meta } = mcpReq;
    return {
      sessionId,
      authInfo: http?.authInfo,
      meta: _meta ?? {},
      signal,
      http: http?.req !== undefined,
      given,
    };
  }
  const { sessionId, signal, _meta, authInfo, requestInfo } = given as Version1;
  if (signal === undefined) return undefined;
  return { sessionId, authInfo, meta: _meta ?? {}, signal, http: requestInfo !== undefined, given };
}

/** The same `extra`, with the signal that stops the body of a call. */
export function extraOf({ given, signal }: RequestExtra, call: Call): object {
  const combined = signalFor(call, signal);
  if (isVersion2(given)) return { ...given, mcpReq: { ...given.mcpReq, signal: combined } };
  return { ...given, signal: combined };
}

function isVersion2(given: object): given is Version2 {
  return 'mcpReq' in given && typeof given.mcpReq === 'object' && given.mcpReq !== null;
}

const NAME = /^[\x21-\x7e]{1,128}$/;

/** Whether a text from outside is fit to name something: 1 to 128 visible characters of ASCII. */
export function isName(text: unknown): text is string {
  return typeof text === 'string' && NAME.test(text);
}

/** The id that the model gave a call, as far as it can be used. */
export function callIdOf(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const id = meta?.[CALL_KEY];
  return isName(id) ? id : undefined;
}

/** The result of a tool call. */
export interface ToolResult {
  readonly content?: unknown;
  readonly isError?: boolean;
}

/** How MCP tells of an error of a tool: so that the model reads it. */
export function errorResult(text: string): ToolResult {
  return { isError: true, content: [{ type: 'text', text }] };
}

/** With which a body fails whose result says `isError`. */
class ErrorResult extends Error {
  readonly result: unknown;

  constructor(result: { readonly content?: unknown }) {
    super(textOf(result.content) ?? 'The result of the tool is an error');
    this.name = 'ErrorResult';
    this.result = result;
  }
}

/** Gives on a result, but throws one that says `isError`, so that its call has failed. */
export function failOnError<T>(result: T): T {
  if ((result as ToolResult | null)?.isError === true) throw new ErrorResult(result as ToolResult);
  return result;
}

/** Gives back a result that {@link failOnError} threw. */
export async function resultOf<T>(outcome: Promise<T>): Promise<T> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof ErrorResult) return error.result as T;
    throw error;
  }
}

function textOf(content: unknown): string | undefined {
  if (!Array.isArray(content)) return undefined;
  const part = content.find((item) => typeof item?.text === 'string');
  return part?.text;
}

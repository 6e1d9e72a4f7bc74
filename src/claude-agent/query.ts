import type { AgentOptions, Gate } from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';
import type { Run } from '../run.ts';
import { type Hooks, hooksOf } from './hooks.ts';
import { Session, type Sessions } from './session.ts';

/** The function `query`. */
export type Query = (parameters: never) => AsyncIterable<unknown>;

/** What of its parameters is looked at. */
interface Parameters {
  readonly options?: {
    readonly abortController?: AbortController;
    readonly hooks?: Hooks;
  };
}

/** What it returns. */
interface Messages extends AsyncGenerator<unknown, void> {
  close?(): void;
  stopTask?(id: string): Promise<unknown>;
}

/** A message by which Claude Code tells the model how calls ended. */
interface Message {
  readonly type?: string;
  readonly message?: { readonly content?: unknown };
}

interface Result {
  readonly type?: string;
  readonly tool_use_id?: string;
  readonly is_error?: boolean;
  readonly content?: unknown;
}

/** `query`, of which each call is a run, and which is for the rest as it was. */
export function superviseQuery<A extends Query>(
  gate: Gate,
  sessions: Sessions,
  query: A,
  options: AgentOptions = {},
): A {
  if (typeof query !== 'function') throw invalidArgument('query', 'the function query of the SDK', query);
  const ask = query as unknown as (parameters: Parameters) => Messages;
  const supervised = (parameters: Parameters): Messages => {
    let messages: Messages | undefined;
    const invoke = (run: Run): AsyncIterable<unknown> => {
      const stop = (id: string) => void messages?.stopTask?.(id).catch(ignore);
      const session = new Session(gate, run, options, stop);
      sessions.add(run, session);
      messages = ask({
        ...parameters,
        options: {
          ...parameters?.options,
          abortController: controllerOf(run),
          hooks: hooksOf(session, parameters?.options?.hooks),
        },
      });
      return watched(session, messages);
    };
    const signal = parameters?.options?.abortController?.signal;
    const iterator = gate.invoke(invoke, { ...options, signal }) as unknown as AsyncGenerator<unknown, void>;
    return messagesOf(messages as unknown as Messages, iterator);
  };
  return supervised as unknown as A;
}

/** Stops Claude Code when the run is aborted. */
function controllerOf(run: Run): AbortController {
  const controller = new AbortController();
  const abort = () => controller.abort(run.signal.reason);
  if (run.signal.aborted) abort();
  else run.signal.addEventListener('abort', abort, { once: true });
  return controller;
}

/** The messages, by which the session hears of calls, too, that were denied after they had been admitted. */
function watched(session: Session, messages: Messages): AsyncIterable<unknown> {
  const iterator: AsyncIterator<unknown> = {
    next: async () => {
      const result = await messages.next();
      if (!result.done) {
        for (const { tool_use_id, is_error, content } of resultsIn(result.value as Message)) {
          if (tool_use_id !== undefined) session.end(tool_use_id, is_error ? { error: content } : undefined);
        }
      }
      return result;
    },
    return: async () => await messages.return(),
    throw: async (error) => await messages.throw(error),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

function resultsIn({ type, message }: Message): readonly Result[] {
  const content = type === 'user' ? message?.content : undefined;
  return Array.isArray(content) ? content.filter((block: Result) => block?.type === 'tool_result') : [];
}

/** What `query` returned, with the messages as the run sees them being read. */
function messagesOf(messages: Messages, iterator: AsyncGenerator<unknown, void>): Messages {
  const leave = () => iterator.return(undefined);
  const own: Record<PropertyKey, unknown> = {
    next: () => iterator.next(),
    return: leave,
    throw: (error: unknown) => iterator.throw(error),
    close: () => {
      messages.close?.();
      leave().catch(ignore);
    },
    [Symbol.asyncDispose]: async () => void (await leave()),
  };
  const proxy: Messages = new Proxy(messages, {
    get(target, key) {
      if (key === Symbol.asyncIterator) return () => proxy;
      if (Object.hasOwn(own, key)) return own[key];
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return proxy;
}

function ignore(): void {}

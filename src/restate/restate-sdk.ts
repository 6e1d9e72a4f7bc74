/**
 * What is used of Restate's SDK. It is an optional peer that only services have, so nothing here imports it;
 * `compat/restate/types.ts` has the compiler hold the real one against this.
 */

/** What `import * as restate from '@restatedev/restate-sdk'` gives. */
export interface RestateSdk {
  readonly object: (definition: never) => unknown;
  readonly handlers: { readonly object: object };
  readonly rpc: { readonly sendOpts: (options: never) => unknown };
}

/** The same, as far as it is called. */
export interface UsedSdk {
  object(definition: {
    readonly name: string;
    readonly handlers: Readonly<Record<string, unknown>>;
    readonly options: { readonly idempotencyRetention: number; readonly journalRetention: number };
  }): unknown;
  readonly handlers: {
    readonly object: {
      exclusive<I>(options: HandlerOptions, fn: (ctx: ObjectContext, input: I) => Promise<unknown>): unknown;
      shared<I>(options: HandlerOptions, fn: (ctx: SharedContext, input: I) => Promise<unknown>): unknown;
    };
  };
  readonly rpc: { sendOpts(options: { readonly delay: number }): SendOptions };
}

export interface HandlerOptions {
  readonly ingressPrivate?: boolean;
}

declare const sendOptions: unique symbol;
export interface SendOptions {
  readonly [sendOptions]: true;
}

/** The context of a shared handler. */
export interface SharedContext {
  readonly key: string;
  get<T>(name: string): Promise<T | null>;
  awakeable<T>(): { readonly id: string; readonly promise: Promise<T> };
  objectClient<Handlers>(object: { readonly name: string }, key: string): Handlers;
}

/** The context of an exclusive handler. */
export interface ObjectContext extends SharedContext {
  set<T>(name: string, value: T): void;
  clearAll(): void;
  run<T>(name: string, action: () => Promise<T>): Promise<T>;
  resolveAwakeable<T>(id: string, payload: T): void;
  objectSendClient<Handlers>(object: { readonly name: string }, key: string): Handlers;
}

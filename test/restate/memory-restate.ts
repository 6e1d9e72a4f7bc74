/**
 * What Restate does for a virtual object, in memory: one exclusive handler of a key at a time, a journal of what each invocation
 * has done, and attempts that die at any step and are taken up again from the journal. The real one is in `compat/restate`.
 */
import type { ObjectContext, RestateSdk, SharedContext, UsedSdk } from '../../src/restate/restate-sdk.ts';

type Handler = { readonly exclusive: boolean; readonly fn: (ctx: never, input: never) => Promise<unknown> };
type Definition = { readonly name: string; readonly handlers: Readonly<Record<string, Handler>> };

class Crash extends Error {}

export class MemoryRestate {
  readonly #objects = new Map<string, Definition>();
  readonly #state = new Map<string, Map<string, string>>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #answers = new Map<string, Promise<unknown>>();
  readonly #awakeables = new Map<string, (value: unknown) => void>();
  #awakened = 0;
  /** Whether the service dies at the step that is next. */
  crashes: () => boolean = () => false;
  /** Whether Restate itself knows requests that come twice; for a while it does. */
  remembers = true;
  /** How many attempts have died. */
  died = 0;

  readonly sdk: RestateSdk = {
    object: ((definition: Definition) => {
      this.#objects.set(definition.name, definition);
      return { name: definition.name };
    }) as never,
    handlers: {
      object: {
        exclusive: (_: object, fn: Handler['fn']): Handler => ({ exclusive: true, fn }),
        shared: (_: object, fn: Handler['fn']): Handler => ({ exclusive: false, fn }),
      },
    },
    rpc: { sendOpts: ((options: object) => options) as never } satisfies Pick<UsedSdk, 'rpc'>['rpc'] as never,
  };

  /** The ingress. */
  readonly fetch: typeof fetch = async (url, init) => {
    const [object = '', key = '', handler = ''] = new URL(String(url)).pathname
      .slice(1)
      .split('/')
      .map(decodeURIComponent);
    const once = new Headers(init?.headers).get('idempotency-key');
    const input = JSON.parse(String(init?.body));
    const started =
      once === null || !this.remembers
        ? this.invoke(object, key, handler, input)
        : this.#once(`${object}/${key}/${handler}/${once}`, () => this.invoke(object, key, handler, input));
    return Response.json(await started);
  };

  /** What is kept of an object. */
  stateOf(object: string, key: string): Record<string, unknown> {
    const state = this.#state.get(`${object}/${key}`) ?? new Map<string, string>();
    return Object.fromEntries([...state].map(([name, value]) => [name, JSON.parse(value)]));
  }

  /** As whoever can write to Restate may do. */
  edit(object: string, key: string, change: (text: string) => string): void {
    const state = this.#state.get(`${object}/${key}`);
    for (const [name, value] of state ?? []) state?.set(name, change(value));
  }

  invoke(object: string, key: string, name: string, input: unknown): Promise<unknown> {
    const handler = this.#objects.get(object)?.handlers[name];
    if (handler === undefined) throw new Error(`There is no handler ${object}/${name}`);
    const id = `${object}/${key}`;
    const attempts = () => this.#untilDone(object, key, handler, plain(input));
    if (!handler.exclusive) return attempts();
    const turn = (this.#turns.get(id) ?? Promise.resolve()).then(attempts);
    this.#turns.set(id, turn);
    return turn;
  }

  #once(key: string, start: () => Promise<unknown>): Promise<unknown> {
    const answer = this.#answers.get(key) ?? start();
    this.#answers.set(key, answer);
    return answer;
  }

  async #untilDone(object: string, key: string, handler: Handler, input: unknown): Promise<unknown> {
    const journal: unknown[] = [];
    for (;;) {
      try {
        return plain(await handler.fn(this.#context(object, key, journal) as never, input as never));
      } catch (error) {
        if (!(error instanceof Crash)) throw error;
        this.died += 1;
      }
    }
  }

  /** Each step is done once: what stands in the journal is not done again. */
  #context(object: string, key: string, journal: unknown[]): SharedContext & ObjectContext {
    const id = `${object}/${key}`;
    const state = this.#state.get(id) ?? new Map<string, string>();
    this.#state.set(id, state);
    let at = 0;
    const step = <T>(act: () => T): T => {
      if (at === journal.length) {
        if (this.crashes()) throw new Crash();
        journal.push(act());
      }
      at += 1;
      return journal[at - 1] as T;
    };
    const call =
      (delay: number | undefined) =>
      (other: { readonly name: string }, otherKey: string): never =>
        new Proxy(
          {},
          {
            get: (_, name: string) => (input: unknown, options?: { readonly delay: number }) =>
              step(() => {
                const send = () => this.invoke(other.name, otherKey, name, input);
                return delay === undefined ? send() : void setTimeout(send, options?.delay ?? delay);
              }),
          },
        ) as never;
    return {
      key,
      get: async (name) => step(() => JSON.parse(state.get(name) ?? 'null')),
      set: (name, value) => void step(() => state.set(name, JSON.stringify(value))),
      clearAll: () => step(() => state.clear()),
      run: async (_, action) => {
        const done = at < journal.length ? undefined : plain(await action());
        return step(() => done) as never;
      },
      awakeable: () =>
        step(() => {
          this.#awakened += 1;
          const name = `awakeable-${this.#awakened}`;
          const promise = new Promise((resolve) => this.#awakeables.set(name, resolve));
          return { id: name, promise };
        }) as never,
      resolveAwakeable: (name, payload) => step(() => this.#awakeables.get(name)?.(plain(payload))) as never,
      objectClient: call(undefined),
      objectSendClient: call(0),
    };
  }
}

/** As JSON has it. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}

import { invalidArgument, noActiveRun, ToolExecutionBlocked } from '../errors.ts';
import { checkOptions } from '../options.ts';
import type { RunOptions } from '../run.ts';
import { checkRunOptions, checkTimeout } from '../run-options.ts';
import { toolOf } from '../tool.ts';
import { Frames } from './frames.ts';
import { Ingress } from './ingress.ts';
import { type CallAddress, finiteOrNull, type RunAddress } from './protocol.ts';
import { addressOf, type RemoteCall, type RemoteHost, RemoteRun } from './remote-run.ts';

/** Where the service is, and how long to wait for it. */
export interface RemoteOptions {
  /** The address of Restate's HTTP ingress, as in `http://restate:8080`. */
  readonly ingress: string;
  /**
   * The name that the service gave its object.
   * @default 'phasegate'
   */
  readonly object?: string | undefined;
  /**
   * Milliseconds within which an answer has to be there, all attempts together; without one the call is refused
   * (`enforcement-unreachable`). 1 to the service's `leaseMs`.
   * @default 10000
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Milliseconds for which the end of a call or a run is reported again until it arrives; 1 to 300000.
   * @default 60000
   */
  readonly reportMs?: number | undefined;
  /**
   * Whether the arguments of calls are sent, for checks and listeners of the service.
   * @default true
   */
  readonly sendArgs?: boolean | undefined;
  /** Sent with each request, as in `{ authorization: `Bearer ${token}` }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Is told of each end of a call or a run that could not be reported in time. The service comes to it by itself, later. */
  readonly onUndelivered?: ((error: unknown, run: RunAddress, call: RemoteCall | null) => void) | undefined;
  /**
   * What requests are made with.
   * @default globalThis.fetch
   */
  readonly fetch?: typeof fetch | undefined;
}

/** How a run is begun: as a local one, but for `parent`. */
export interface RemoteRunOptions extends Omit<RunOptions, 'parent'> {
  /**
   * The call in whose body the run is begun, on this machine or, by its address, on another: then it is a child run. Found by
   * itself where the platform has `AsyncLocalStorage`; `null` says that there is none (SPEC §10.1).
   */
  readonly parent?: RemoteCall | CallAddress | null | undefined;
}

/** Begins and joins runs that a service keeps, and stands around their tools (SPEC §5). It fails closed. */
export interface RemoteEnforcement {
  /**
   * Begins a run. End it with `finish`, whether the agent returned or threw; `withRun` does.
   *
   * @throws {ToolExecutionBlocked} (rejects) `depth-exceeded` (SPEC §10.3).
   * @throws {PhasegateError} (rejects) `run-exists`, `call-unknown`, `enforcement-unreachable` or `invalid-argument`.
   */
  beginRun(options?: RemoteRunOptions): Promise<RemoteRun>;
  /**
   * A run that was begun before, here or on another machine.
   *
   * @param where The id of an outermost run, or the `address` of any.
   * @throws {PhasegateError} (rejects) `run-unknown`, `enforcement-unreachable` or `invalid-argument`.
   * @example const run = await enforcement.joinRun(job.run);
   */
  joinRun(where: string | RunAddress): Promise<RemoteRun>;
  /**
   * Begins a run, runs the agent inside of it, and finishes it whatever happens (SPEC §6.1).
   *
   * @param options How the run is begun; or a run that was begun or joined.
   * @returns What the agent returns. It rejects with what the agent throws, and as soon as the run is aborted: with the
   *   reason if that is an error, else with a `RunAbortedError`; at the deadline with one of code `run-timeout`.
   * @example
   * const answer = await enforcement.withRun(() => agent(question), { timeoutMs: 60_000 });
   */
  withRun<T>(
    agent: (run: RemoteRun) => T | PromiseLike<T>,
    options?: RemoteRunOptions | RemoteRun,
  ): Promise<T>;
  /**
   * Puts a tool under enforcement: the same parameters, the same result. It finds its run by itself, and its caller. It
   * needs `AsyncLocalStorage`: where the platform has none, use `run.callTool`.
   *
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused; `no-active-run` outside of a run.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const search = enforcement.tool('search', async (query: string) => fetchPages(query));
   */
  tool<This, Params extends unknown[], Result>(
    name: string,
    fn: (this: This, ...params: Params) => Result,
  ): (this: This, ...params: Params) => Promise<Awaited<Result>>;
  /** The run that the present code is inside of; `null` outside of one, or where the platform cannot tell. */
  currentRun(): RemoteRun | null;
}

/**
 * Makes an enforcement whose runs a service keeps (`phasegateObject`), so that agents on any machine call tools in them.
 *
 * @throws {PhasegateError} `invalid-argument`.
 * @example
 * const enforcement = remoteEnforcement({ ingress: 'http://restate:8080', timeoutMs: 5000 });
 * const search = enforcement.tool('search', fetchPages);
 * await enforcement.withRun(() => agent({ tools: { search } }));
 */
export function remoteEnforcement(options: RemoteOptions): RemoteEnforcement {
  checkOptions('a remote enforcement', options, OPTIONS);
  const { ingress, object = 'phasegate', timeoutMs = 10_000, reportMs = 60_000, sendArgs = true } = options;
  if (typeof ingress !== 'string' || !/^https?:\/\//.test(ingress)) {
    throw invalidArgument('ingress', 'an address as http://restate:8080', ingress);
  }
  if (typeof object !== 'string' || object === '') throw invalidArgument('object', 'a name', object);
  checkTimeout('timeoutMs', timeoutMs);
  if (!Number.isFinite(timeoutMs)) throw invalidArgument('timeoutMs', 'a time that ends', timeoutMs);
  checkTimeout('reportMs', reportMs);
  if (!(reportMs <= MOST_REPORT_MS)) throw invalidArgument('reportMs', `at most ${MOST_REPORT_MS}`, reportMs);
  if (typeof sendArgs !== 'boolean') throw invalidArgument('sendArgs', 'true or false', sendArgs);
  const { headers = {}, onUndelivered = () => {}, fetch = (...args) => globalThis.fetch(...args) } = options;
  if (typeof onUndelivered !== 'function')
    throw invalidArgument('onUndelivered', 'a function', onUndelivered);
  if (typeof fetch !== 'function') throw invalidArgument('fetch', 'a function', fetch);
  if (typeof headers !== 'object' || headers === null) throw invalidArgument('headers', 'an object', headers);
  const machine = crypto.randomUUID();
  let keys = 0;
  return new AskingEnforcement({
    ingress: new Ingress(ingress, object, headers, fetch),
    timeoutMs,
    reportMs,
    sendArgs,
    frames: new Frames(),
    newKey: () => {
      keys += 1;
      return `${machine}.${keys}`;
    },
    // Whatever it does, the result of a call is not lost to it.
    undelivered: (...what) => {
      try {
        onUndelivered(...what);
      } catch {}
    },
  });
}

/** Within what Restate answers a repeated request by itself. */
const MOST_REPORT_MS = 300_000;

class AskingEnforcement implements RemoteEnforcement {
  readonly #host: RemoteHost;

  constructor(host: RemoteHost) {
    this.#host = host;
  }

  async beginRun(options: RemoteRunOptions = {}): Promise<RemoteRun> {
    checkRunOptions(options as RunOptions);
    const { timeoutMs = Number.POSITIVE_INFINITY, signal, budget, maxDepth } = options;
    const { frames, ingress, newKey } = this.#host;
    const parent =
      options.parent === undefined
        ? (frames.innermostCall()?.address ?? null)
        : addressOf('parent', options.parent);
    const op = newKey();
    const run = options.id ?? `run-${op}`;
    const root = parent?.root ?? run;
    checkRoot('id', root);
    const request = {
      op,
      run,
      parent: parent && { run: parent.run, call: parent.call },
      timeoutMs: finiteOrNull(timeoutMs),
      budget,
      maxDepth: maxDepth === undefined ? undefined : finiteOrNull(maxDepth),
    };
    const answer = await ingress.ask(root, 'begin', request, ['run', 'refused'], {
      once: op,
      withinMs: this.#host.timeoutMs,
    });
    if (answer.is === 'refused') throw new ToolExecutionBlocked(answer.refusal.message, answer.refusal);
    const begun = this.#runOf({ root, run }, answer);
    begun.endBy(timeoutMs, signal);
    return begun;
  }

  async joinRun(where: string | RunAddress): Promise<RemoteRun> {
    const { root, run } = typeof where === 'string' ? { root: where, run: where } : (where ?? {});
    if (typeof root !== 'string' || typeof run !== 'string') {
      throw invalidArgument('where', 'the id of an outermost run, or the address of a run', where);
    }
    checkRoot('where', root);
    const { ingress, timeoutMs } = this.#host;
    const answer = await ingress.ask(root, 'state', { run }, ['run'], { withinMs: timeoutMs });
    return this.#runOf({ root, run }, answer);
  }

  async withRun<T>(
    agent: (run: RemoteRun) => T | PromiseLike<T>,
    options?: RemoteRunOptions | RemoteRun,
  ): Promise<T> {
    if (typeof agent !== 'function') throw invalidArgument('agent', 'a function', agent);
    const run = options instanceof RemoteRun ? options : await this.beginRun(options);
    return run.drive(agent);
  }

  tool<This, Params extends unknown[], Result>(
    name: string,
    fn: (this: This, ...params: Params) => Result,
  ): (this: This, ...params: Params) => Promise<Awaited<Result>> {
    return toolOf(name, fn, () => {
      const run = this.currentRun();
      if (run === null) throw noActiveRun(name);
      return run;
    });
  }

  currentRun(): RemoteRun | null {
    return this.#host.frames.innermostRun();
  }

  #runOf(address: RunAddress, begun: ConstructorParameters<typeof RemoteRun>[2]): RemoteRun {
    const { timeoutMs } = this.#host;
    // Or an admission could arrive when its lease is over.
    if (begun.leaseMs !== null && timeoutMs > begun.leaseMs) {
      throw invalidArgument('timeoutMs', `at most ${begun.leaseMs}, the leaseMs of the service`, timeoutMs);
    }
    return new RemoteRun(this.#host, address, begun);
  }
}

const OPTIONS = [
  'ingress',
  'object',
  'timeoutMs',
  'reportMs',
  'sendArgs',
  'headers',
  'onUndelivered',
  'fetch',
] as const satisfies readonly (keyof RemoteOptions)[];

/** The id of an outermost run stands in the address of what is asked, where a dot is a step and half a character is none. */
function checkRoot(name: string, root: string): void {
  if (!/^\.{0,2}$|\p{Cs}/u.test(root)) return;
  throw invalidArgument(name, 'a text that can stand in an address: well-formed, and no dots alone', root);
}

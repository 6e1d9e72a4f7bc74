import type { Call } from '../call.ts';
import { innermostCallOf } from '../context.ts';
import type { Enforcement } from '../enforcement.ts';
import { findToolExecutionBlocked, type ToolExecutionBlocked } from '../errors.ts';
import type { Run, RunOptions } from '../run.ts';
import { endedByPolicy, Invocation } from './invocation.ts';
import { enforcementOf, type GateOptions, readSettings, type Settings, type Supervising } from './options.ts';
import {
  isAsyncIterable,
  isReadable,
  isResponse,
  isThenable,
  iteratorOf,
  readableOf,
  responseOf,
  resultOf,
} from './streams.ts';

/** A tool call as a framework asks for it. */
export interface ToolRequest {
  readonly tool: string;
  readonly args: unknown;
  /** The id that the model gave the call. */
  readonly callId?: string | undefined;
  /**
   * Whatever is the same, as `Object.is` says, for all calls that the model asked for in one turn, and another in its next:
   * such as the list of messages of the turn.
   */
  readonly turn?: unknown;
  /** The run, where the framework hands it on; without it the one that the code is inside of. */
  readonly run?: Run | undefined;
}

/** How an adapter shows a refusal to the model: what it returns is the result of the call, and it may throw as well. */
export type ShowRefusal<T> = (text: string, blocked: ToolExecutionBlocked) => T;

/** What is a framework's own: options, and how it streams. Streams and async iterables as such are known. */
export interface Framework {
  /** The names of the options that only its adapter has. */
  readonly options?: readonly string[];
  /** Whether what an agent returned is a result with streams in it; see `resultOf` for what is made of it. */
  hasStreams?(result: object): boolean;
  /**
   * Whether a stream ends at once, in a way of the framework's own, when the caller aborts, also while a body does not stop.
   * Otherwise whoever reads it gets the reason of the abort.
   */
  readonly endsAbortedStreams?: boolean;
}

/** How refusals of a run follow each other. */
interface Row {
  length: number;
  turn: unknown;
}

/**
 * What all adapters are made of: calls that are admitted, refusals that are shown, and invocations that are runs.
 */
export class Gate {
  readonly enforcement: Enforcement;
  readonly #settings: Settings;
  readonly #framework: Framework;
  readonly #invocations = new WeakMap<Run, Invocation>();
  readonly #rows = new WeakMap<Run, Row>();

  /** @param given An enforcement, or what to make one of. */
  constructor(given: Supervising, options: GateOptions, framework: Framework) {
    this.enforcement = enforcementOf(given);
    this.#settings = readSettings(options, framework.options);
    this.#framework = framework;
  }

  /**
   * Asks for a call, and runs its body if it is admitted: at once, when nothing has to be awaited.
   *
   * @param show Shows a refusal to the model.
   * @returns What the body returns, or what `show` does. It rejects with what either throws, and with
   *   `ToolExecutionBlocked` when the refusal is one that aborts the run, or there is no run.
   */
  async call<T>(
    request: ToolRequest,
    body: (call: Call) => T | PromiseLike<T>,
    show: ShowRefusal<T | PromiseLike<T>>,
  ): Promise<T> {
    const { tool, args, callId } = request;
    const run = request.run ?? this.enforcement.currentRun();
    if (run === null) return await this.#outsideOfRuns(tool, args);
    let admitted = false;
    try {
      return await run.callTool(
        tool,
        args,
        (call) => {
          admitted = true;
          this.#rows.delete(run);
          return body(call);
        },
        { callId },
      );
    } catch (error) {
      // A refusal that comes out of the body is one of a call inside of it.
      if (admitted) throw error;
      return await this.#show(run, request, error, show);
    }
  }

  /**
   * Asks for a call whose body the framework runs by itself, and tells of in callbacks. End it with `afterCall` or `failCall`
   * of its run.
   *
   * @returns The call; or what `show` returns, when it is refused. It rejects as {@link call} does.
   */
  async admit<T>(
    request: ToolRequest & { readonly run: Run },
    show: ShowRefusal<T>,
  ): Promise<{ readonly call: Call } | { readonly shown: T }> {
    const { run, tool, args, callId } = request;
    try {
      const call = await run.beforeCall(tool, args, { callId });
      this.#rows.delete(run);
      return { call };
    } catch (error) {
      return { shown: this.#show(run, request, error, show) };
    }
  }

  /**
   * Begins a run, and calls an agent inside of it. The run ends when that is over which the agent returned: a promise, a
   * stream, a result with streams in it, or a plain value.
   *
   * @param agent Is handed the run; its signal is what the framework is to be aborted with.
   * @param options With the caller's own signal, if there is one.
   * @returns What the agent returned, watched: of the same type.
   */
  invoke<T>(agent: (run: Run) => T, options: RunOptions = {}): T {
    const invocation = this.begin(options);
    let result: T;
    try {
      result = invocation.run.inside(() => agent(invocation.run));
    } catch (error) {
      invocation.finish();
      throw error;
    }
    return this.#watch(invocation, result) as T;
  }

  // What was returned may be such that nobody can read it, as a response that was read already.
  #watch(invocation: Invocation, result: unknown): unknown {
    try {
      return this.#watched(invocation, result);
    } catch (error) {
      invocation.finish();
      throw error;
    }
  }

  /** Begins a run, for a framework that tells in callbacks when an invocation is over. */
  begin(options: RunOptions = {}): Invocation {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    const run = this.enforcement.beginRun({ ...this.#settings.run, ...Object.fromEntries(given) });
    const { endsAbortedStreams = false } = this.#framework;
    const { unreadMs } = this.#settings;
    const invocation = new Invocation(run, { callerSignal: options.signal, endsAbortedStreams, unreadMs });
    this.#invocations.set(run, invocation);
    return invocation;
  }

  #watched(invocation: Invocation, result: unknown): unknown {
    if (isReadable(result)) return readableOf(invocation, result);
    if (isObject(result) && this.#framework.hasStreams?.(result)) return resultOf(invocation, result);
    if (isAsyncIterable(result)) return iteratorOf(invocation, result);
    if (isResponse(result)) return responseOf(invocation, result);
    if (isThenable(result)) return this.#settle(invocation, result);
    invocation.finish();
    return result;
  }

  async #settle(invocation: Invocation, promised: PromiseLike<unknown>): Promise<unknown> {
    let result: unknown;
    try {
      result = await invocation.settle(promised);
    } catch (error) {
      invocation.finish();
      throw error;
    }
    return this.#watch(invocation, result);
  }

  #show<T>(run: Run, { turn }: ToolRequest, error: unknown, show: ShowRefusal<T>): T {
    const blocked = findToolExecutionBlocked(error);
    // Of code that asks again and again, the model reads one answer.
    if (blocked === undefined || this.#aborts(run, blocked, turn ?? innermostCallOf(run))) throw error;
    return show(refusalText(blocked), blocked);
  }

  /** @returns Whether the refusal has ended the run, or ends it now. */
  #aborts(run: Run, blocked: ToolExecutionBlocked, turn: unknown): boolean {
    if (endedByPolicy(run)) {
      this.#invocations.get(run)?.fail(blocked);
      return true;
    }
    const { onBlocked, maxBlocked } = this.#settings;
    if (onBlocked === 'message' && this.#lengthOfRow(run, turn) <= maxBlocked) return false;
    run.abort(blocked);
    return true;
  }

  /** Refuses as tools do outside of runs, so that listeners hear of it too. */
  #outsideOfRuns(tool: string, args: unknown): Promise<never> {
    const refuses = this.enforcement.tool(tool, (_: unknown): never => {
      throw new Error('A run has begun meanwhile');
    });
    return refuses(args);
  }

  #lengthOfRow(run: Run, turn: unknown): number {
    const row = this.#rows.get(run) ?? { length: 0, turn: null };
    const sameTurn = row.length > 0 && turn !== null && Object.is(row.turn, turn);
    if (!sameTurn) row.length += 1;
    row.turn = turn;
    this.#rows.set(run, row);
    return row.length;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** What a model is told of a refusal: why, and what is legal instead. */
export function refusalText({ message, hint }: ToolExecutionBlocked): string {
  return `${message}. ${hint}`;
}

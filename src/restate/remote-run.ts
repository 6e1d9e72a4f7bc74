import { abortError, reasonText } from '../abort-reason.ts';
import { messageOf } from '../describe.ts';
import { invalidArgument, PhasegateError, RunAbortedError, ToolExecutionBlocked } from '../errors.ts';
import type { Phase } from '../phases.ts';
import type { Decision, RunState } from '../supervisor.ts';
import type { Frames } from './frames.ts';
import type { AskOptions, Ingress } from './ingress.ts';
import type { Answer, AnswerThat, CallAddress, Question, Requests, RunAddress, RunView } from './protocol.ts';

/** How a call is asked for. */
export interface RemoteCallOptions {
  /** The id that the model or the framework gave the call; may repeat. Without it the run numbers its calls. */
  readonly callId?: string | undefined;
  /**
   * The call from inside whose body this one is made, on this machine or, by its address, on another: then it is nested. Found by
   * itself where the platform has `AsyncLocalStorage`; `null` says that there is none (SPEC §5.7).
   */
  readonly parent?: RemoteCall | CallAddress | null | undefined;
}

/** What the body of a call does: it is handed its call, and answers with a value or a promise. */
export type RemoteBody<T> = (ctx: RemoteCall) => T | PromiseLike<T>;

/** What the enforcement lends to each of its runs. */
export interface RemoteHost {
  readonly ingress: Ingress;
  readonly timeoutMs: number;
  readonly reportMs: number;
  readonly sendArgs: boolean;
  readonly frames: Frames;
  /** A key that no other request of any machine has. */
  newKey(): string;
  undelivered(error: unknown, run: RunAddress, call: RemoteCall | null): void;
}

/** What an answer says of a run that is begun or joined. */
export type Begun = AnswerThat<'run'>;

interface Ended {
  readonly reason: string | null;
  readonly error: unknown;
}

/** A run that is kept by the service, as this machine sees it. The same run may be in use on others (SPEC §5). */
export class RemoteRun {
  readonly #host: RemoteHost;
  /** How often a call in flight gives a sign of life: thrice in a lease. */
  readonly #signMs: number;
  readonly #aborting = new AbortController();
  #view: RunView;
  #ended: Ended | undefined;
  #release: (() => void) | undefined;
  #onAbort: ((error: unknown) => void) | undefined;
  /** Where it is kept: JSON, for `joinRun` on another machine. */
  readonly address: RunAddress;
  /** The call in whose body it was begun; `null` for an outermost run. */
  readonly parent: CallAddress | null;

  /** Not for users: see `beginRun` and `joinRun`. */
  constructor(host: RemoteHost, address: RunAddress, { view, leaseMs, parent }: Begun) {
    this.#host = host;
    this.#signMs = (leaseMs ?? Number.POSITIVE_INFINITY) / 3;
    this.#view = view;
    this.address = address;
    this.parent = parent && { root: address.root, ...parent };
    this.#see(view);
  }

  get id(): string {
    return this.address.run;
  }

  /** Whether this machine knows that the run has ended. */
  get ended(): boolean {
    return this.#ended !== undefined;
  }

  /**
   * Aborted, with the reason, when the run is aborted or terminated: at once on the machine that does it and at the run's
   * deadline; on others with the next answer that they get. While a call of theirs is in flight that is at the latest after a
   * third of the service's `leaseMs`.
   */
  get signal(): AbortSignal {
    return this.#aborting.signal;
  }

  /**
   * Where the run is now.
   *
   * @throws {PhasegateError} (rejects) `enforcement-unreachable`, `run-unknown`.
   */
  async state(): Promise<RunState> {
    return (await this.#look()).view.state;
  }

  /** Is a tool call legal now (SPEC §4)? Changes nothing. @throws {PhasegateError} (rejects) as {@link state}. */
  async validateActionPhase(): Promise<Decision> {
    return (await this.#look()).action;
  }

  /** Moves to another phase, if that is legal now (SPEC §3). @throws {PhasegateError} (rejects) as {@link state}. */
  async propose(target: Phase): Promise<Decision> {
    const op = this.#host.newKey();
    const request = { op, run: this.id, target };
    const options = { once: op, withinMs: this.#host.timeoutMs };
    return (await this.#ask('propose', request, ['decided'], options)).decision;
  }

  /**
   * Asks for a tool call. End it with {@link afterCall} or {@link failCall}.
   *
   * @param args What the tool is called with: JSON, for the checks and listeners of the service.
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused, or there was no answer (`enforcement-unreachable`).
   * @throws {PhasegateError} (rejects) `invalid-argument`.
   */
  async beforeCall(tool: string, args?: unknown, options: RemoteCallOptions = {}): Promise<RemoteCall> {
    if (typeof tool !== 'string' || tool === '') throw invalidArgument('tool', 'the name of a tool', tool);
    const { callId } = options;
    if (callId !== undefined && typeof callId !== 'string')
      throw invalidArgument('callId', 'a string', callId);
    const parent = this.#parentOf(options.parent);
    const call = this.#host.newKey();
    const sent = this.#host.sendArgs ? { args: json(args) } : {};
    const asked = { run: this.id, call, tool, callId: callId ?? null, parent: parent?.call ?? null, ...sent };
    if (this.#ended !== undefined) throw this.#refusedAtEnd(asked);
    let answer: AnswerThat<'admitted' | 'refused'>;
    try {
      answer = await this.#askForCall(asked);
    } catch (error) {
      // It may be admitted all the same, or yet arrive.
      this.#withdraw(asked, error);
      if (this.#ended !== undefined) throw this.#refusedAtEnd(asked);
      const code = error instanceof PhasegateError ? error.code : 'enforcement-failed';
      throw this.#refused(asked, code, `Cannot call ${tool}: ${messageOf(error)}`);
    }
    if (answer.is === 'refused') throw new ToolExecutionBlocked(answer.refusal.message, answer.refusal);
    if (this.#ended !== undefined) {
      this.#withdraw(asked, 'the run has ended');
      throw this.#refusedAtEnd(asked);
    }
    return new RemoteCall(this, tool, answer.callId, { ...this.address, call }, this.#keepAlive(call));
  }

  /**
   * The call ended well: a step (SPEC §5.4). A second end changes nothing.
   *
   * @throws {PhasegateError} (rejects) `enforcement-unreachable`: the service charges it as a step when its lease is over.
   */
  async afterCall(call: RemoteCall): Promise<void> {
    await this.#end(call, 'afterCall', { run: this.id, call: call.address.call });
  }

  /** The call failed: no step (SPEC §5.4). A second end changes nothing. @throws {PhasegateError} (rejects) as {@link afterCall}. */
  async failCall(call: RemoteCall, error?: unknown): Promise<void> {
    await this.#end(call, 'failCall', { run: this.id, call: call.address.call, error: messageOf(error) });
  }

  /**
   * Asks for a call, runs its body if it is admitted, and ends it as the body ends.
   *
   * @returns What the body returns; it rejects with what the body throws. An end that cannot be reported changes neither: the
   *   enforcement's `onUndelivered` is told.
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused, or there was no answer: then the body has not started.
   * @example const pages = await run.callTool('search', { q }, (ctx) => search(q, ctx.signal));
   */
  async callTool<T>(
    tool: string,
    args: unknown,
    body: RemoteBody<T>,
    options?: RemoteCallOptions,
  ): Promise<T> {
    if (typeof body !== 'function') throw invalidArgument('body', 'a function', body);
    const call = await this.beforeCall(tool, args, options);
    let result: T;
    try {
      if (this.#ended !== undefined) throw this.#refusedAtEnd({ tool, callId: call.id });
      result = await this.#host.frames.run({ run: this, call }, () => body(call));
    } catch (error) {
      await this.#deliver(this.failCall(call, error), call);
      throw error;
    }
    await this.#deliver(this.afterCall(call), call);
    return result;
  }

  /** Runs code inside of the run: tools made with `enforcement.tool` find it from there, also after an await. */
  inside<T>(fn: () => T): T {
    return this.#host.frames.run({ run: this, call: null }, fn);
  }

  /** Ends the run in ANSWERING, once (SPEC §6.1). @throws {PhasegateError} (rejects) `enforcement-unreachable`. */
  async finish(): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#close(null, undefined);
    await this.#ask('finish', { run: this.id }, ['done'], this.#report(this.#host.newKey()));
  }

  /**
   * Ends the run in ANSWERING and keeps the reason (SPEC §6.2). On this machine nothing starts any more from now on, on others
   * from when it resolves.
   *
   * @throws {PhasegateError} (rejects) `enforcement-unreachable`.
   */
  async abort(reason?: unknown): Promise<void> {
    if (this.#ended === undefined) await this.#abort(reason, reasonText(reason), false);
  }

  /** Runs the agent, and rejects as soon as the run is aborted. Not for an agent to call: see `withRun`. */
  async drive<T>(agent: (run: RemoteRun) => T | PromiseLike<T>): Promise<T> {
    if (this.#ended !== undefined && this.#ended.reason !== null) throw this.#ended.error;
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#onAbort = reject;
        this.inside(async () => agent(this)).then(resolve, reject);
      });
    } finally {
      await this.#deliver(this.finish(), null);
    }
  }

  /** Ends the run at its deadline, or as the signal says. Not for users: see `beginRun`. */
  endBy(timeoutMs: number, signal: AbortSignal | undefined): void {
    const abort = (reason: unknown, text: string, timedOut: boolean) =>
      void this.#deliver(this.#abort(reason, text, timedOut), null);
    const timedOut = () => {
      const reason = `timeout after ${timeoutMs} ms`;
      abort(new RunAbortedError('run-timeout', this.id, reason), reason, true);
    };
    const onAbort = () => abort(signal?.reason, reasonText(signal?.reason), false);
    if (signal?.aborted) {
      onAbort();
      return;
    }
    const timer = Number.isFinite(timeoutMs) ? setTimeout(timedOut, timeoutMs) : undefined;
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#release = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  }

  // —— Asking ——

  async #ask<Name extends Question, Kind extends Answer['is']>(
    name: Name,
    request: Requests[Name],
    expected: readonly Kind[],
    options: AskOptions,
  ): Promise<AnswerThat<Kind>> {
    const answer = await this.#host.ingress.ask(this.address.root, name, request, expected, options);
    if ('view' in answer && answer.view !== null) this.#see(answer.view);
    return answer;
  }

  #look(): Promise<AnswerThat<'run'>> {
    return this.#ask('state', { run: this.id }, ['run'], { withinMs: this.#host.timeoutMs });
  }

  async #askForCall(asked: Requests['beforeCall']): Promise<AnswerThat<'admitted' | 'refused'>> {
    const { run, call } = asked;
    const { timeoutMs } = this.#host;
    const once = { once: call, withinMs: timeoutMs };
    const askedAt = performance.now();
    let answer = await this.#ask('beforeCall', asked, ['admitted', 'refused', 'waiting'], once);
    const waited = answer.is === 'waiting';
    if (answer.is === 'waiting') {
      const withinMs = (answer.waitMs ?? Number.POSITIVE_INFINITY) + timeoutMs;
      const { signal } = this.#aborting;
      answer = await this.#ask('awaitTurn', { run, call }, ['admitted', 'refused'], {
        once: call,
        withinMs,
        signal,
      });
    }
    // From the line it was offered, to whoever is there still; and what was long under way has used up some of its lease.
    if (answer.is === 'admitted' && (waited || performance.now() - askedAt > this.#signMs)) {
      answer = await this.#renew(call, Math.min(timeoutMs, this.#signMs));
    }
    if (answer.is === 'admitted' && answer.call !== call) {
      throw new PhasegateError(
        'answer-unreadable',
        `Expected an answer to call ${call}, got one to ${answer.call}`,
      );
    }
    return answer;
  }

  #renew(call: string, withinMs: number): Promise<AnswerThat<'admitted' | 'refused'>> {
    return this.#ask('renewCall', { run: this.id, call }, ['admitted', 'refused'], { withinMs });
  }

  /** Gives signs of life of a call until it ends, and learns from the answers whether the run has ended elsewhere. */
  #keepAlive(call: string): () => void {
    const everyMs = this.#signMs;
    if (!Number.isFinite(everyMs)) return () => {};
    // What does not arrive is tried again next time.
    const timer = setInterval(() => void this.#renew(call, everyMs).catch(() => {}), everyMs);
    (timer as { unref?: () => void }).unref?.();
    return () => clearInterval(timer);
  }

  #end<Name extends 'afterCall' | 'failCall'>(call: RemoteCall, name: Name, request: Requests[Name]) {
    if (!(call instanceof RemoteCall) || call.run !== this) {
      throw invalidArgument('call', `a call of run ${this.id}`, call);
    }
    call.end();
    return this.#ask(name, request, ['done'], this.#report(call.address.call));
  }

  #report(once: string): AskOptions {
    return { once, withinMs: this.#host.reportMs };
  }

  #withdraw({ run, call }: Requests['beforeCall'], why: unknown): void {
    const request = { run, call, error: messageOf(why) };
    void this.#deliver(this.#ask('failCall', request, ['done'], this.#report(call)), null);
  }

  async #deliver(report: Promise<unknown>, call: RemoteCall | null): Promise<void> {
    try {
      await report;
    } catch (error) {
      this.#host.undelivered(error, this.address, call);
    }
  }

  // —— The end ——

  #see(view: RunView): void {
    this.#view = view;
    const { finished, reason } = view.state;
    if (!finished) return;
    if (reason === null) this.#close(null, undefined);
    else if (view.timedOut) this.#close(reason, new RunAbortedError('run-timeout', this.id, reason));
    else this.#close(reason, new RunAbortedError('run-aborted', this.id, reason));
  }

  async #abort(reason: unknown, text: string, timedOut: boolean): Promise<void> {
    this.#close(text, reason);
    const request = { run: this.id, reason: text, timedOut };
    await this.#ask('abort', request, ['done'], this.#report(this.#host.newKey()));
  }

  #close(reason: string | null, cause: unknown): void {
    if (this.#ended !== undefined) return;
    const error = reason === null ? undefined : abortError(cause, this.id);
    this.#ended = { reason, error };
    this.#release?.();
    if (reason === null) return;
    this.#aborting.abort(cause);
    this.#onAbort?.(error);
  }

  // —— Refusals ——

  #refusedAtEnd(asked: Pick<Requests['beforeCall'], 'tool' | 'callId'>): ToolExecutionBlocked {
    const reason = this.#ended?.reason ?? null;
    const why = reason === null ? '' : `: ${reason}`;
    const message = `Cannot call ${asked.tool}: agent run is already completed${why}`;
    return this.#refused(asked, 'run-completed', message);
  }

  #refused(
    { tool, callId }: Pick<Requests['beforeCall'], 'tool' | 'callId'>,
    code: string,
    message: string,
  ): ToolExecutionBlocked {
    const { phase, stepCount } = this.#view.state;
    const at = { callId, runId: this.id, phase, stepCount };
    return new ToolExecutionBlocked(message, { tool, ...at, stage: 'enforcement', code, result: null });
  }

  #parentOf(given: RemoteCall | CallAddress | null | undefined): CallAddress | null {
    if (given === undefined) return this.#host.frames.innermostCallOf(this)?.address ?? null;
    const address = addressOf('parent', given);
    if (address !== null && (address.run !== this.id || address.root !== this.address.root)) {
      throw invalidArgument('parent', `a call of run ${this.id}`, `a call of run ${address.run}`);
    }
    return address;
  }
}

/** A tool call that was admitted, and the context that its body is handed. */
export class RemoteCall {
  readonly run: RemoteRun;
  readonly tool: string;
  /** The id that the caller gave it, or the run. */
  readonly id: string;
  /** Where it is kept: JSON, for code on another machine that works for it, as `parent` of its calls and child runs. */
  readonly address: CallAddress;
  #stop: (() => void) | undefined;

  /** Not for users: see `beforeCall` and `callTool`. */
  constructor(run: RemoteRun, tool: string, id: string, address: CallAddress, stop: () => void) {
    this.run = run;
    this.tool = tool;
    this.id = id;
    this.address = address;
    this.#stop = stop;
  }

  /** Whether it is in flight, as far as this machine knows. */
  get live(): boolean {
    return this.#stop !== undefined;
  }

  /** Aborted when the run is: hand it on to whatever the body waits for. */
  get signal(): AbortSignal {
    return this.run.signal;
  }

  /**
   * Calls another tool from inside this one's body, as a nested call (SPEC §5.7).
   *
   * @throws {ToolExecutionBlocked} (rejects) when the nested call is refused.
   */
  callTool<T>(
    tool: string,
    args: unknown,
    body: RemoteBody<T>,
    options?: { readonly callId?: string },
  ): Promise<T> {
    return this.run.callTool(tool, args, body, { callId: options?.callId, parent: this });
  }

  /** Not for users: see `afterCall`. */
  end(): void {
    this.#stop?.();
    this.#stop = undefined;
  }
}

/** @throws {PhasegateError} `invalid-argument`. */
export function addressOf(name: string, given: RemoteCall | CallAddress | null): CallAddress | null {
  if (given === null) return null;
  const { root, run, call } = given instanceof RemoteCall ? given.address : given;
  if (typeof root === 'string' && typeof run === 'string' && typeof call === 'string')
    return { root, run, call };
  throw invalidArgument(name, 'a call that `beforeCall` or `callTool` handed out, or its address', given);
}

/** @throws {PhasegateError} `invalid-argument`: a check is not to see less than the tool is called with. */
function json(args: unknown): unknown {
  try {
    JSON.stringify(args);
    return args;
  } catch {
    throw invalidArgument(
      'args',
      'what JSON can hold (or set sendArgs to false, and no check sees them)',
      args,
    );
  }
}

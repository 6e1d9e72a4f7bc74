import { type Body, type Call, CallList, type CallOptions, SupervisedCall } from './call.ts';
import { type Frame, innermostFrame, runInside } from './context.ts';
import {
  isCount,
  type Position,
  type RefusalCode,
  refusalMessage,
  refuseAction,
  refuseProposal,
  stepBudgetMessage,
  withinStepBudget,
} from './decide.ts';
import { describe, messageOf } from './describe.ts';
import { invalidArgument, RunAbortedError, type Stage, ToolExecutionBlocked } from './errors.ts';
import type { Emitter } from './events.ts';
import { type LogEntry, type Recorded, RunLog } from './log.ts';
import type { Monitor, ValidationResult } from './monitor.ts';
import { isTerminal, type Phase } from './phases.ts';
import type { Rules } from './rules.ts';
import type { Run, RunOptions } from './run.ts';
import { type Decision, decision, type RunState } from './supervisor.ts';

/** What the enforcement lends to each of its runs. */
export interface RunHost {
  readonly parallel: 'serialize' | 'concurrent';
  /** Whether the `dfa` stage is on (SPEC §7). */
  readonly dfa: boolean;
  /** Runs the checks besides `dfa`; absent when there are none, so that a call is decided at once. */
  readonly checks: ((...args: Parameters<Monitor['validate']>) => Promise<ValidationResult>) | undefined;
  readonly waitTimeoutMs: number;
  readonly logLimit: number;
  readonly events: Emitter;
}

const PARENT_ENDED = 'parent run ended';
const MAX_TIMEOUT = 2 ** 31 - 1;
const SELF_LOOP: readonly Phase[] = Object.freeze(['ACTING', 'ACTING']);
const STAY: readonly Phase[] = Object.freeze(['ACTING']);
const MAX_DEPTH = 5;
// Ids are to be unlikely twice, also in the recordings of two processes; they are no secret.
const ID_PREFIX = `run-${Math.random().toString(36).slice(2, 8)}`;
let runsBegun = 0;

/** A run as its enforcement drives it. */
export class SupervisedRun implements Run, Position, Frame {
  readonly host: RunHost;
  readonly parentCall: SupervisedCall | null;
  readonly depth: number;
  readonly #rules: Rules;
  readonly #budgetShared: boolean;
  readonly #maxDepth: number;
  #id: string | undefined;

  // The position that decisions look at.
  phase: Phase = 'IDLE';
  stepCount = 0;
  pending = 0;
  childPending = 0;
  loopCount = 0;
  pendingLoops = 0;
  #inFlight = 0;
  #finished = false;
  #reason: string | null = null;
  // A finished run keeps the loop count of the phase that it ended in.
  #loopPhase: Phase = 'IDLE';

  readonly #active = new CallList();
  #waiting: CallList | undefined;
  #children: Set<SupervisedRun> | undefined;
  #log: RunLog | undefined;
  #callsAsked = 0;

  outer: Frame | undefined;
  #controller: AbortController | undefined;
  #abortedWith: { readonly reason: unknown } | undefined;
  #release: (() => void) | undefined;
  #onAbort: ((error: unknown) => void) | undefined;

  constructor(host: RunHost, rules: Rules, options: RunOptions) {
    if (typeof options !== 'object' || options === null)
      throw invalidArgument('The options of a run', 'an object', options);
    const { id, timeoutMs = Number.POSITIVE_INFINITY, signal, budget = 'shared', maxDepth } = options;
    if (id !== undefined && typeof id !== 'string') throw invalidArgument('id', 'a string', id);
    if (signal !== undefined && !isSignal(signal)) throw invalidArgument('signal', 'an AbortSignal', signal);
    if (budget !== 'shared' && budget !== 'own') throw invalidArgument('budget', "'shared' or 'own'", budget);
    if (maxDepth !== undefined && !isCount(maxDepth)) {
      throw invalidArgument('maxDepth', 'a whole number of 0 or more, or Infinity', maxDepth);
    }
    checkTimeout('timeoutMs', timeoutMs);
    this.host = host;
    this.#rules = rules;
    this.#id = id;
    this.parentCall = options.parent === undefined ? innermostCall() : ownCall('parent', options.parent);
    this.#budgetShared = budget === 'shared';
    const parent = this.parentCall?.run;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    const bound = parent === undefined ? MAX_DEPTH : parent.#maxDepth;
    this.#maxDepth = parent === undefined ? (maxDepth ?? bound) : Math.min(maxDepth ?? bound, bound);
    if (this.depth > this.#maxDepth) throw this.#tooDeep();
    this.#begin(timeoutMs, signal);
  }

  get id(): string {
    if (this.#id === undefined) {
      runsBegun += 1;
      this.#id = `${ID_PREFIX}-${runsBegun}`;
    }
    return this.#id;
  }

  /** Itself: code inside of a run is inside of that one. */
  get run(): this {
    return this;
  }

  get live(): boolean {
    return !this.#finished;
  }

  get parent(): SupervisedRun | null {
    return this.parentCall?.run ?? null;
  }

  get state(): RunState {
    return {
      phase: this.phase,
      stepCount: this.stepCount,
      loopCount: this.loopCount === 0 ? {} : { [this.#loopPhase]: this.loopCount },
      inFlight: this.#inFlight,
      finished: this.#finished,
      reason: this.#reason,
    };
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortedWith !== undefined) this.#controller.abort(this.#abortedWith.reason);
    }
    return this.#controller.signal;
  }

  get log(): readonly LogEntry[] {
    return this.#log?.entries ?? [];
  }

  get logDropped(): number {
    return this.#log?.dropped ?? 0;
  }

  propose(target: Phase): Decision {
    const from = this.phase;
    const code = refuseProposal(this.#rules.table, this.#rules, this, target);
    const answer = decision(this.#rules, this.state, this, code, Object.freeze([from, target]));
    if (answer.allowed) {
      // A run that enters a terminal phase has ended when its listeners hear of it.
      if (isTerminal(target)) {
        this.loopCount = 0;
        this.#end(target, undefined);
      } else {
        this.#enter(target);
      }
    }
    const { events } = this.host;
    if (events.observed) {
      const allowed = answer.allowed;
      events.emit({
        type: 'phase.proposed',
        time: Date.now(),
        run: this.id,
        target,
        allowed,
        code: code ?? null,
      });
    }
    const entry: LogEntry = {
      time: Date.now(),
      tool: null,
      callId: null,
      parent: null,
      allowed: answer.allowed,
      code: code ?? null,
      message: answer.allowed ? null : answer.message,
      stage: answer.allowed ? null : 'dfa',
      phaseBefore: from,
      phaseAfter: this.phase,
      path: answer.allowed ? answer.path : [],
      stepCount: this.stepCount,
      loopCount: this.loopCount,
      inFlight: this.#inFlight,
    };
    this.#record({ toLogEntry: () => ({ ...entry }) });
    return answer;
  }

  validateActionPhase(): Decision {
    const { table } = this.#rules;
    const code = refuseAction(table, this.#rules, this);
    const exhausted = code === 'step-budget' ? undefined : this.#exhaustedAncestor();
    if (exhausted !== undefined) {
      return { allowed: false, code: 'step-budget', message: this.#ancestorMessage(exhausted) };
    }
    return decision(this.#rules, this.state, this, code, table.pathToActing(this.phase) ?? []);
  }

  async beforeCall(tool: string, args?: unknown, options?: CallOptions): Promise<Call> {
    const answer = this.admit(tool, args, options);
    if (answer instanceof ToolExecutionBlocked) throw answer;
    return answer;
  }

  admit(
    tool: string,
    args?: unknown,
    options?: CallOptions,
  ): SupervisedCall | ToolExecutionBlocked | Promise<SupervisedCall> {
    if (typeof tool !== 'string' || tool === '') throw invalidArgument('tool', 'the name of a tool', tool);
    const callId = options?.callId;
    if (callId !== undefined && typeof callId !== 'string')
      throw invalidArgument('callId', 'a string', callId);
    const parent = this.#parentOf(options?.parent);
    this.#callsAsked += 1;
    const call = new SupervisedCall(this, tool, args, callId ?? this.#callsAsked, parent);
    if (this.#finished) return this.#refuseEnded(call);
    // A call whose maker has ended is made from no body any more: it takes its turn like any other.
    call.nested = parent?.status === 'in-flight';
    if (!call.nested && this.host.parallel === 'serialize' && (this.pending > 0 || this.#waiting?.first)) {
      return this.#wait(call);
    }
    return this.#decide(call);
  }

  afterCall(call: Call): void {
    this.#endCall(ownCall('call', call), true, undefined);
  }

  failCall(call: Call, error?: unknown): void {
    this.#endCall(ownCall('call', call), false, error);
  }

  async callTool<T>(tool: string, args: unknown, body: Body<T>, options?: CallOptions): Promise<T> {
    if (typeof body !== 'function') throw invalidArgument('body', 'a function', body);
    const answer = this.admit(tool, args, options);
    const call = answer instanceof Promise ? await answer : answer;
    if (call instanceof ToolExecutionBlocked) throw call;
    // Between its admission and this line the run may have ended, and then no body starts (SPEC §9).
    if (this.#finished) throw this.#takeBack(call, true);
    try {
      const result = await runInside(call, () => body(call));
      this.#endCall(call, true, undefined);
      return result;
    } catch (error) {
      this.#endCall(call, false, error);
      throw error;
    }
  }

  inside<T>(fn: () => T): T {
    return runInside(this, fn);
  }

  finish(): void {
    this.#end('ANSWERING', undefined);
  }

  abort(reason?: unknown): void {
    if (this.#finished) return;
    this.#end('ANSWERING', { reason });
    this.#onAbort?.(this.#abortError(reason));
  }

  /**
   * Runs the agent, and rejects as soon as the run is aborted, even if the agent does not stop (SPEC §6.3).
   * Not for an agent to call: see `withRun`.
   */
  drive<T>(agent: (run: Run) => T | PromiseLike<T>): Promise<T> {
    if (this.#abortedWith !== undefined) return Promise.reject(this.#abortError(this.#abortedWith.reason));
    return new Promise((resolve, reject) => {
      this.#onAbort = reject;
      runInside(this, async () => agent(this)).then(resolve, reject);
    });
  }

  // —— Beginning ——

  #begin(timeoutMs: number, signal: AbortSignal | undefined): void {
    const parent = this.parent;
    const { events } = this.host;
    if (events.observed) {
      events.emit({
        type: 'run.started',
        time: Date.now(),
        run: this.id,
        parent: parent?.id ?? null,
        call: this.parentCall?.id ?? null,
      });
    }
    if (parent !== null) {
      if (parent.#finished) {
        this.abort(parent.#abortedWith === undefined ? PARENT_ENDED : parent.#abortedWith.reason);
        return;
      }
      parent.#children ??= new Set();
      parent.#children.add(this);
    }
    if (signal?.aborted) {
      this.abort(signal.reason);
      return;
    }
    if (signal === undefined && timeoutMs === Number.POSITIVE_INFINITY) return;
    const onAbort = () => this.abort(signal?.reason);
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : setTimeout(() => this.#timeout(timeoutMs), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#release = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  }

  #timeout(timeoutMs: number): void {
    this.abort(new RunAbortedError('run-timeout', this.id, `timeout after ${timeoutMs} ms`));
  }

  #tooDeep(): ToolExecutionBlocked {
    const call = this.parentCall as SupervisedCall;
    return new ToolExecutionBlocked(`Runs nest deeper than ${this.#maxDepth}`, {
      tool: call.tool,
      callId: call.id,
      runId: call.run.id,
      stage: 'enforcement',
      code: 'depth-exceeded',
      result: null,
      phase: call.run.phase,
      stepCount: call.run.stepCount,
    });
  }

  // —— One call, from the question to its end ——

  #parentOf(given: Call | null | undefined): SupervisedCall | null {
    if (given === undefined) return innermostCall(this);
    const call = ownCall('parent', given);
    if (call !== null && call.run !== this) {
      throw invalidArgument('parent', `a call of run ${this.id}`, `a call of run ${call.run.id}`);
    }
    return call;
  }

  #wait(call: SupervisedCall): Promise<SupervisedCall> {
    return new Promise((resolve, reject) => {
      call.status = 'waiting';
      this.#waiting ??= new CallList();
      this.#waiting.push(call);
      const { waitTimeoutMs, events } = this.host;
      const timer =
        waitTimeoutMs === Number.POSITIVE_INFINITY
          ? undefined
          : setTimeout(() => this.#waitedTooLong(call), waitTimeoutMs);
      call.waiter = { resolve, reject, timer };
      if (events.observed) {
        events.emit({ type: 'call.waiting', time: Date.now(), run: this.id, call: call.id, tool: call.tool });
      }
    });
  }

  #waitedTooLong(call: SupervisedCall): void {
    this.#waiting?.remove(call);
    const { waitTimeoutMs } = this.host;
    const other = this.#active.first?.tool ?? 'another call';
    const message =
      `Cannot call ${call.tool}: waited ${waitTimeoutMs} ms for ${other}, which is still running. ` +
      `If ${other} itself makes this call, hand on its context: ctx.callTool(...), or { parent: ctx }`;
    this.#answer(call, this.#refuse(call, 'wait-timeout', message, 'enforcement', null));
  }

  #serveWaiting(): void {
    for (let call = this.#waiting?.first; call !== undefined; call = this.#waiting?.first) {
      if (this.pending > 0 || this.#finished) return;
      this.#waiting?.remove(call);
      clearTimeout(call.waiter?.timer);
      const waiter = call.waiter;
      const answer = this.#decide(call);
      if (answer instanceof Promise) answer.then(waiter?.resolve, waiter?.reject);
      else {
        call.waiter = waiter;
        this.#answer(call, answer);
      }
    }
  }

  /** Gives the answer to whoever awaits it. */
  #answer(call: SupervisedCall, answer: SupervisedCall | ToolExecutionBlocked): void {
    const { waiter } = call;
    call.waiter = undefined;
    clearTimeout(waiter?.timer);
    if (answer instanceof ToolExecutionBlocked) waiter?.reject(answer);
    else waiter?.resolve(answer);
  }

  /** Decides, reserves, and admits at once when there is no check to run. */
  #decide(call: SupervisedCall): SupervisedCall | ToolExecutionBlocked | Promise<SupervisedCall> {
    const { dfa, checks } = this.host;
    const joins = !call.nested && this.pending > 0;
    call.phaseBefore = this.phase;
    const refused = dfa ? this.#refuseByBudgetOrTable(call, joins) : undefined;
    if (refused !== undefined) return refused;
    const before = checks === undefined ? undefined : this.state;
    this.#reserve(call, this.phase === 'ACTING' && !joins);
    return checks === undefined || before === undefined
      ? this.#enterActing(call)
      : this.#check(call, before, checks);
  }

  #refuseByBudgetOrTable(call: SupervisedCall, joins: boolean): ToolExecutionBlocked | undefined {
    const code = refuseAction(this.#rules.table, this.#rules, this, joins);
    const exhausted = code === 'step-budget' ? undefined : this.#exhaustedAncestor();
    if (code === undefined && exhausted === undefined) return undefined;
    const message =
      exhausted === undefined && code !== undefined
        ? refusalMessage(code, this.#rules.table, this.#rules, this)
        : this.#ancestorMessage(exhausted ?? this);
    const refusedFor = exhausted === undefined ? (code as RefusalCode) : 'step-budget';
    const forBudget = refusedFor === 'step-budget' || refusedFor === 'loop-budget';
    const ends =
      forBudget && this.#rules.onBudgetExhausted === 'terminate' && !call.nested && this.pending === 0;
    return this.#refuse(call, refusedFor, message, 'dfa', null, ends ? 'EXHAUSTED' : undefined);
  }

  #check(
    call: SupervisedCall,
    before: RunState,
    checks: NonNullable<RunHost['checks']>,
  ): Promise<SupervisedCall> {
    const descriptor = {
      tool: call.tool,
      args: call.args,
      callId: call.id,
      runId: this.id,
      parent: call.parent?.id ?? null,
    };
    const path = this.#rules.table.pathToActing(before.phase) ?? [];
    const dfa = decision(this.#rules, before, this, undefined, path);
    return new Promise((resolve, reject) => {
      call.waiter = { resolve, reject, timer: undefined };
      let answer: Promise<ValidationResult>;
      try {
        answer = Promise.resolve(checks(descriptor, before, dfa));
      } catch (error) {
        answer = Promise.reject(error);
      }
      answer.then(
        (result) => this.#checked(call, result),
        (error) => this.#checked(call, failedMonitor(messageOf(error))),
      );
    });
  }

  #checked(call: SupervisedCall, answer: unknown): void {
    // The run may have ended meanwhile, and the call been refused for it.
    if (call.status !== 'reserved') return;
    const result = readResult(answer);
    if (result.allowed) {
      this.#answer(call, this.#enterActing(call));
    } else {
      this.#giveBack(call);
      const { code, message, stage } = result;
      const ends = this.#rules.onRejected === 'terminate' && !call.nested && this.pending === 0;
      const endsIn = ends ? 'REJECTED' : undefined;
      this.#answer(call, this.#refuse(call, code, message, stage, result.result, endsIn));
    }
    if (this.pending === 0) this.#serveWaiting();
  }

  #reserve(call: SupervisedCall, selfLoop: boolean): void {
    call.status = 'reserved';
    call.selfLoop = selfLoop;
    this.pending += 1;
    if (selfLoop) this.pendingLoops += 1;
    this.#active.push(call);
    for (let run = this.#budgetParent; run !== null; run = run.parent) run.childPending += 1;
  }

  #giveBack(call: SupervisedCall, loops = call.selfLoop): void {
    this.pending -= 1;
    if (loops) this.pendingLoops -= 1;
    this.#active.remove(call);
    for (let run = this.#budgetParent; run !== null; run = run.parent) run.childPending -= 1;
  }

  /** Takes the path, and the call is in flight. */
  #enterActing(call: SupervisedCall): SupervisedCall | ToolExecutionBlocked {
    const { dfa, events } = this.host;
    // While the call was checked others may have moved the run, so the path is the one from where it is now.
    const acting = this.phase === 'ACTING';
    const path = acting
      ? call.selfLoop
        ? SELF_LOOP
        : STAY
      : (this.#rules.table.pathToActing(this.phase) ?? (dfa ? undefined : [this.phase, 'ACTING']));
    if (path === undefined) {
      this.#giveBack(call);
      const message = refusalMessage('action-unreachable', this.#rules.table, this.#rules, this);
      return this.#refuse(call, 'action-unreachable', message, 'dfa', null);
    }
    // All hops are taken before anyone hears of the first: a listener may call a tool in turn.
    const from = this.phase;
    this.#move('ACTING', path === SELF_LOOP);
    if (call.selfLoop) this.pendingLoops -= 1;
    call.status = 'in-flight';
    this.#inFlight += 1;
    call.path = path;
    this.#recordCall(call);
    const told = !events.observed || this.#tellOfStart(call, from, path);
    call.args = undefined;
    // A listener may have ended the run just now.
    return this.#finished ? this.#takeBack(call, told) : call;
  }

  /** @returns Whether all was told: nothing starts any more once the run has ended. */
  #tellOfStart(call: SupervisedCall, start: Phase, path: readonly Phase[]): boolean {
    const { events } = this.host;
    let from = start;
    for (let hop = 1; hop < path.length; hop++) {
      const phase = path[hop] as Phase;
      events.emit({ type: 'phase.entered', time: call.time, run: this.id, from, phase });
      if (this.#finished) return false;
      from = phase;
    }
    events.emit({
      type: 'call.started',
      time: call.time,
      run: this.id,
      call: call.id,
      tool: call.tool,
      parent: call.parent?.id ?? null,
      args: call.args,
    });
    return true;
  }

  /** Refuses a call that was admitted, and whose body has not started when the run ended. */
  #takeBack(call: SupervisedCall, told: boolean): ToolExecutionBlocked {
    const message = this.#endedMessage(call.tool);
    const blocked = this.#blocked(call, 'run-completed', message, 'enforcement', null);
    call.blocked = { code: blocked.code, message, stage: blocked.stage };
    if (told) {
      this.#endCall(call, false, blocked);
      return blocked;
    }
    this.#inFlight -= 1;
    this.#giveBack(call, false);
    call.status = 'refused';
    this.#tellOfRefusal(call, blocked);
    return blocked;
  }

  #endCall(call: SupervisedCall | null, ok: boolean, error: unknown): void {
    if (call?.run !== this)
      throw invalidArgument('call', `a call of run ${this.id}`, call && `a call of run ${call.run.id}`);
    if (call.status !== 'in-flight') return;
    call.status = 'ended';
    const late = this.#finished;
    this.pending -= 1;
    this.#inFlight -= 1;
    this.#active.remove(call);
    for (let run = this.#budgetParent; run !== null; run = run.parent) {
      run.childPending -= 1;
      // It was made, so whoever shares his budget pays for it, also when it comes too late for this run.
      if (ok && !run.#finished) run.stepCount += 1;
    }
    if (ok && !late) this.stepCount += 1;
    const moves = !late && this.#inFlight === 0 && (ok || this.#rules.onToolError === 'observe');
    if (moves) this.#enter('OBSERVING');
    const { events } = this.host;
    if (events.observed) {
      events.emit({
        type: 'call.ended',
        time: Date.now(),
        run: this.id,
        call: call.id,
        tool: call.tool,
        ok,
        late,
        error,
      });
    }
    if (this.pending === 0) this.#serveWaiting();
  }

  #enter(phase: Phase): void {
    const from = this.phase;
    this.#move(phase, phase === from);
    const { events } = this.host;
    if (events.observed) events.emit({ type: 'phase.entered', time: Date.now(), run: this.id, from, phase });
  }

  /** A phase that is left forgets its loops (SPEC §2.2); a call that joins others in ACTING is none. */
  #move(phase: Phase, loops: boolean): void {
    if (loops) this.loopCount += 1;
    else if (phase !== this.phase) this.loopCount = 0;
    this.phase = phase;
    this.#loopPhase = phase;
  }

  // —— Refusals ——

  #refuseEnded(call: SupervisedCall): ToolExecutionBlocked {
    return this.#refuse(call, 'run-completed', this.#endedMessage(call.tool), 'enforcement', null);
  }

  #endedMessage(tool: string): string {
    const why = this.#reason === null ? '' : `: ${this.#reason}`;
    return `Cannot call ${tool}: agent run is already completed${why}`;
  }

  #refuse(
    call: SupervisedCall,
    code: RefusalCode | (string & {}),
    message: string,
    stage: Stage,
    result: ValidationResult | null,
    endsIn?: 'EXHAUSTED' | 'REJECTED',
  ): ToolExecutionBlocked {
    const blocked = this.#blocked(call, code, message, stage, result);
    call.status = 'refused';
    call.blocked = { code, message, stage };
    this.#tellOfRefusal(call, blocked);
    call.args = undefined;
    if (endsIn !== undefined) this.#end(endsIn, { reason: message });
    this.#recordCall(call);
    return blocked;
  }

  #tellOfRefusal(call: SupervisedCall, { code, message, stage }: ToolExecutionBlocked): void {
    const { events } = this.host;
    if (!events.observed) return;
    events.emit({
      type: 'call.refused',
      time: Date.now(),
      run: this.id,
      call: call.id,
      tool: call.tool,
      parent: call.parent?.id ?? null,
      args: call.args,
      code,
      message,
      stage,
    });
  }

  #blocked(
    call: SupervisedCall,
    code: RefusalCode | (string & {}),
    message: string,
    stage: Stage,
    result: ValidationResult | null,
  ): ToolExecutionBlocked {
    return new ToolExecutionBlocked(message, {
      tool: call.tool,
      callId: call.id,
      runId: this.id,
      stage,
      code,
      result,
      phase: this.phase,
      stepCount: this.stepCount,
    });
  }

  // —— Budgets shared with ancestors ——

  /** The nearest run whose step budget its calls count in besides its own. */
  get #budgetParent(): SupervisedRun | null {
    return this.#budgetShared ? this.parent : null;
  }

  #exhaustedAncestor(): SupervisedRun | undefined {
    for (let run = this.#budgetParent; run !== null; run = run.parent) {
      const pending = run.pending + run.childPending;
      if (run.host.dfa && !withinStepBudget(run.#rules, run.stepCount, pending)) return run;
    }
    return undefined;
  }

  #ancestorMessage(ancestor: SupervisedRun): string {
    return stepBudgetMessage(
      ancestor.#rules,
      ancestor,
      ancestor === this.parent ? ' (parent run)' : ' (ancestor run)',
    );
  }

  // —— The end ——

  #end(phase: Phase, aborted: { readonly reason: unknown } | undefined): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#reason = aborted === undefined ? null : reasonText(aborted.reason);
    this.#abortedWith = aborted;
    this.#release?.();
    this.#release = undefined;
    const children = this.#children ?? [];
    this.#children = undefined;
    this.#leaveParent();
    const from = this.phase;
    this.phase = phase;
    for (const child of children) child.abort(aborted === undefined ? PARENT_ENDED : aborted.reason);
    this.#refuseAllWhoWait();
    if (aborted !== undefined) this.#controller?.abort(aborted.reason);
    const { events } = this.host;
    if (events.observed) {
      const time = Date.now();
      if (from !== phase) events.emit({ type: 'phase.entered', time, run: this.id, from, phase });
      const { stepCount } = this;
      events.emit({ type: 'run.ended', time, run: this.id, phase, reason: this.#reason, stepCount });
    }
  }

  #leaveParent(): void {
    const { parent } = this;
    if (parent !== null) parent.#children?.delete(this);
  }

  #refuseAllWhoWait(): void {
    for (let call = this.#waiting?.first; call !== undefined; call = this.#waiting?.first) {
      this.#waiting?.remove(call);
      this.#answer(call, this.#refuseEnded(call));
    }
    // Whoever is answered may end calls in turn: so first all that are reserved are found, then each is looked at again.
    const reserved: SupervisedCall[] = [];
    for (let call = this.#active.first; call !== undefined; call = call.next) {
      if (call.status === 'reserved') reserved.push(call);
    }
    for (const call of reserved) {
      if (call.status !== 'reserved') continue;
      this.#giveBack(call);
      this.#answer(call, this.#refuseEnded(call));
    }
  }

  #abortError(reason: unknown): unknown {
    return isError(reason) ? reason : new RunAbortedError('run-aborted', this.id, reasonText(reason), reason);
  }

  // —— The log ——

  #recordCall(call: SupervisedCall): void {
    call.time = Date.now();
    call.phaseAfter = this.phase;
    call.stepCount = this.stepCount;
    call.loopCount = this.loopCount;
    call.inFlight = this.#inFlight;
    this.#record(call);
  }

  #record(entry: Recorded): void {
    this.#log ??= new RunLog(this.host.logLimit);
    this.#log.record(entry);
  }
}

/**
 * Checks a number of milliseconds that a timer is to take.
 *
 * @throws {PhasegateError} `invalid-argument`: a longer time than a timer can take would be over at once.
 */
export function checkTimeout(name: string, ms: number): void {
  if (ms === Number.POSITIVE_INFINITY) return;
  if (!(typeof ms === 'number' && ms >= 1 && ms <= MAX_TIMEOUT)) {
    throw invalidArgument(name, `milliseconds from 1 to ${MAX_TIMEOUT}, or Infinity`, ms);
  }
}

/** The innermost call whose body the present code is inside of; of one run, or of any. */
export function innermostCall(run?: Run): SupervisedCall | null {
  const frame = innermostFrame(
    (candidate) => candidate instanceof SupervisedCall && (run === undefined || candidate.run === run),
  );
  return (frame as SupervisedCall | undefined) ?? null;
}

function ownCall(name: string, call: Call | null): SupervisedCall | null {
  if (call === null || call instanceof SupervisedCall) return call;
  throw invalidArgument(name, 'a call that `beforeCall` or `callTool` handed out', call);
}

function isSignal(value: unknown): value is AbortSignal {
  if (typeof value !== 'object' || value === null) return false;
  const { aborted, addEventListener, removeEventListener } = value as AbortSignal;
  return [typeof aborted, typeof addEventListener, typeof removeEventListener].join() === SIGNAL;
}

const SIGNAL = 'boolean,function,function';

/** What a monitor answered, as far as it can be trusted. */
type Answer =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly code: string;
      readonly message: string;
      readonly stage: Stage;
      readonly result: ValidationResult;
    };

// Fail closed: whatever is no decision refuses, and so does what cannot be read.
function readResult(answer: unknown): Answer {
  let result = failedMonitor(`answered ${describe(answer)} instead of a decision`);
  try {
    const { allowed, code, message, stage } = answer as ValidationResult;
    if (allowed === true) return { allowed };
    if (allowed === false) {
      result = { ...result, ...(answer as ValidationResult) };
      return {
        allowed,
        code: typeof code === 'string' ? code : 'check-refused',
        message: typeof message === 'string' ? message : 'A monitor check refused the call',
        stage: typeof stage === 'string' ? stage : 'monitor',
        result,
      };
    }
  } catch (error) {
    result = failedMonitor(messageOf(error));
  }
  return { allowed: false, code: 'check-failed', message: result.message ?? '', stage: 'monitor', result };
}

function failedMonitor(why: string): ValidationResult {
  const message = `Check "monitor" failed: ${why}`;
  return { allowed: false, stage: 'monitor', code: 'check-failed', message, checks: [] };
}

function reasonText(reason: unknown): string {
  if (typeof reason === 'string') return reason;
  if (reason === undefined) return 'no reason given';
  return isError(reason) && reason instanceof RunAbortedError ? reason.reason : messageOf(reason);
}

// A proxy may throw when it is asked.
function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

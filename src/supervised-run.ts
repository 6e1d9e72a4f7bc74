import { abortError, reasonText } from './abort-reason.ts';
import {
  type Body,
  type Call,
  type CallOptions,
  callsOf,
  ownCall,
  pushCall,
  removeCall,
  SupervisedCall,
} from './call.ts';
import { type Frame, innermostCallOf, runInside } from './context.ts';
import { type RefusalCode, refusalMessage, refuseAction, refuseProposal } from './decide.ts';
import { describe, messageOf } from './describe.ts';
import { invalidArgument, RunAbortedError, SavedRunError, type Stage } from './errors.ts';
import { checkInspect, type Inspect } from './inspection.ts';
import type { LogEntry } from './log.ts';
import type { PhaseEvent } from './machine.ts';
import type { ValidationResult } from './monitor.ts';
import { failedMonitor, readAnswer } from './monitor-answer.ts';
import type { Step } from './move-table.ts';
import { nestingOf } from './nesting.ts';
import type { Phase } from './phases.ts';
import { Refusal } from './refusal.ts';
import { hashRules } from './rules.ts';
import type { Run, RunOptions } from './run.ts';
import { type ActorPlace, type PhaseActor, RunActor } from './run-actor.ts';
import { RunExtras } from './run-extras.ts';
import { checkRunOptions } from './run-options.ts';
import { RunPosition } from './run-position.ts';
import { type Resumption, type SavedCall, type SavedRun, type SaveOptions, sealed } from './saved-run.ts';
import { type Decision, decision, type RunState } from './supervisor.ts';
import {
  askOfStart,
  tellOfBegin,
  tellOfCallEnd,
  tellOfPhase,
  tellOfProposal,
  tellOfRefusal,
  tellOfReservation,
  tellOfRunEnd,
  tellOfStart,
  tellOfWaiting,
} from './telling.ts';
import type { RunHost, Terms } from './terms.ts';

const PARENT_ENDED = 'parent run ended';
// Ids are to be unlikely twice, also in the recordings of two processes; they are no secret.
const ID_PREFIX = `run-${Math.random().toString(36).slice(2, 8)}`;
let runsBegun = 0;

/** A run as its enforcement drives it: it lives on the compiled table, see `move-table.ts`. */
export class SupervisedRun extends RunPosition implements Run, Frame {
  #id: string | undefined;
  #finished = false;

  /** The calls that are reserved or in flight. */
  #active: SupervisedCall | undefined;
  #callsAsked = 0;
  outer: Frame | undefined;
  #extras: RunExtras | undefined;

  /** @param resumption Where it goes on, if it was saved: see `saved-run.ts`, which has checked it. */
  constructor(terms: Terms, options: RunOptions, resumption?: Resumption) {
    checkRunOptions(options);
    super(terms, nestingOf(options));
    const { id, timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
    this.#id = id;
    if (resumption !== undefined) this.#restore(resumption.saved);
    this.#begin(options.budget ?? 'shared', timeoutMs, signal, resumption);
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

  get state(): RunState {
    const { phase, stepCount, loopCount } = this;
    return {
      phase,
      stepCount,
      loopCount: loopCount === 0 ? {} : { [this.#extras?.endedFrom ?? phase]: loopCount },
      inFlight: this.inFlight,
      finished: this.#finished,
      reason: this.#extras?.reason ?? null,
    };
  }

  get callsInFlight(): readonly SupervisedCall[] {
    return callsOf(this.#active).filter(({ status }) => status === 'in-flight');
  }

  get interrupted(): readonly SavedCall[] {
    return this.#extras?.interrupted ?? NO_CALLS;
  }

  get signal(): AbortSignal {
    const extras = this.#more;
    if (extras.controller === undefined) {
      extras.controller = new AbortController();
      if (extras.abortedWith !== undefined) extras.controller.abort(extras.abortedWith.reason);
    }
    return extras.controller.signal;
  }

  get actor(): PhaseActor {
    return this.#actorIn({}).ref;
  }

  inspect(inspect: Inspect): () => void {
    checkInspect(inspect);
    const actor = this.#actorIn({});
    this.#makeActorsUnder(actor);
    return actor.inspect(inspect);
  }

  get #more(): RunExtras {
    this.#extras ??= new RunExtras();
    return this.#extras;
  }

  propose(target: Phase): Decision {
    const { host } = this;
    const from = this.phase;
    const answer = this.#answerProposal(target);
    const code = answer.allowed ? null : answer.code;
    let ends = false;
    if (answer.allowed) {
      const step = this.stepTo(target);
      // A run that enters a terminal phase has ended when its listeners hear of it, and that it was proposed before it.
      if (step.to.terminal) {
        this.loopCount = 0;
        this.#close(target, undefined);
        ends = true;
      } else {
        this.take(step);
        this.#extras?.actor?.tell();
        if (host.events.observed) tellOfPhase(this, Date.now(), from, target);
      }
    }
    if (host.events.observed) tellOfProposal(this, target, code);
    if (ends) this.#tellOfEnd(`propose.${target}`);
    const entry: LogEntry = {
      time: Date.now(),
      tool: null,
      callId: null,
      parent: null,
      allowed: answer.allowed,
      code,
      message: answer.allowed ? null : answer.message,
      stage: answer.allowed ? null : 'dfa',
      phaseBefore: from,
      phaseAfter: this.phase,
      path: answer.allowed ? answer.path : [],
      stepCount: this.stepCount,
      loopCount: this.loopCount,
      inFlight: this.inFlight,
    };
    this.record({ newer: undefined, toLogEntry: () => ({ ...entry }) });
    return answer;
  }

  #answerProposal(target: Phase): Decision {
    const { rules } = this.terms;
    const code = refuseProposal(rules.table, rules, this, target);
    const actor = this.#extras?.actor;
    if (code === undefined && actor !== undefined) {
      const step = this.stepTo(target);
      const event = { type: `propose.${target}` } as const;
      // The end of a run is told as such.
      const message = step.to.terminal ? actor.fault : actor.take([event], this.standingAfter(step));
      if (message !== undefined) return { allowed: false, code: 'actor-disagrees', message };
    }
    return decision(rules, this.state, this, code, Object.freeze([this.phase, target]));
  }

  validateActionPhase(): Decision {
    const { rules } = this.terms;
    const code = refuseAction(rules.table, rules, this);
    const disagreement = this.#extras?.actor?.fault;
    if (code === undefined && disagreement !== undefined) {
      return { allowed: false, code: 'actor-disagrees', message: disagreement };
    }
    const exhausted = code === 'step-budget' ? undefined : this.exhaustedAncestor();
    if (exhausted !== undefined) {
      return { allowed: false, code: 'step-budget', message: this.ancestorMessage(exhausted) };
    }
    return decision(rules, this.state, this, code, rules.table.pathToActing(this.phase) ?? []);
  }

  async beforeCall(tool: string, args?: unknown, options?: CallOptions): Promise<Call> {
    const answer = this.admit(tool, args, options);
    if (answer instanceof Refusal) throw answer.toError();
    return answer;
  }

  admit(
    tool: string,
    args?: unknown,
    options?: CallOptions,
    checks = this.host.checks,
  ): SupervisedCall | Refusal | Promise<SupervisedCall> {
    if (typeof tool !== 'string' || tool === '') throw invalidArgument('tool', 'the name of a tool', tool);
    const callId = options?.callId;
    if (callId !== undefined && typeof callId !== 'string')
      throw invalidArgument('callId', 'a string', callId);
    const parent = this.#parentOf(options?.parent);
    this.#callsAsked += 1;
    const call = new SupervisedCall(this, tool, args, this.#callsAsked, callId, parent);
    if (this.host.events.observed) {
      const asked = performance.now();
      call.times = { asked, turn: asked };
    }
    if (this.#finished) return this.#refuseEnded(call);
    // A call whose maker has ended is made from no body any more: it takes its turn like any other.
    call.nested = parent?.status === 'in-flight';
    if (!call.nested && this.host.parallel === 'serialize' && (this.pending > 0 || this.#extras?.waiting)) {
      return this.#wait(call);
    }
    return this.#decide(call, checks);
  }

  afterCall(call: Call, result?: unknown): void {
    this.#endCall(ownCall('call', call), true, result);
  }

  failCall(call: Call, error?: unknown): void {
    this.#endCall(ownCall('call', call), false, error);
  }

  async callTool<T>(tool: string, args: unknown, body: Body<T>, options?: CallOptions): Promise<T> {
    if (typeof body !== 'function') throw invalidArgument('body', 'a function', body);
    const answer = this.admit(tool, args, options);
    const call = answer instanceof Promise ? await answer : answer;
    if (call instanceof Refusal) throw call.toError();
    // Between its admission and this line the run may have ended, and then no body starts (SPEC §9).
    if (this.#finished) throw this.#takeBack(call, true).toError();
    try {
      const result = await this.#runInside(call, body, call);
      this.#endCall(call, true, result);
      return result;
    } catch (error) {
      this.#endCall(call, false, error);
      throw error;
    }
  }

  inside<T>(fn: () => T): T {
    return this.#runInside(this, fn, undefined);
  }

  #runInside<A, T>(frame: this | SupervisedCall, fn: (argument: A) => T, argument: A): T {
    const { events } = this.host;
    if (!events.wraps) return runInside(frame, fn, argument);
    const { seq, id } = frame === this ? NO_CALL : (frame as SupervisedCall);
    return events.inside({ run: this.id, call: id, seq }, () => runInside(frame, fn, argument));
  }

  finish(): void {
    this.#end('run.finish', 'ANSWERING', undefined);
  }

  abort(reason?: unknown): void {
    if (this.#finished) return;
    this.#end('run.abort', 'ANSWERING', { reason });
    this.#giveUp(reason);
  }

  /**
   * Runs the agent, and rejects as soon as the run is aborted, even if the agent does not stop (SPEC §6.3).
   * Not for an agent to call: see `withRun`.
   */
  drive<T>(agent: (run: Run) => T | PromiseLike<T>): Promise<T> {
    const extras = this.#more;
    if (extras.abortedWith !== undefined)
      return Promise.reject(abortError(extras.abortedWith.reason, this.id));
    return new Promise((resolve, reject) => {
      extras.onAbort = reject;
      this.#runInside(this, async () => agent(this), undefined)
        .finally(() => this.#release())
        .then(resolve, reject);
    });
  }

  /** Whoever waits for the agent gets the error, whether or not the agent ends. */
  #giveUp(reason: unknown): void {
    this.#extras?.onAbort?.(abortError(reason, this.id));
    this.#release();
  }

  /** Neither the deadline nor the signal has anything to end any more. */
  #release(): void {
    const extras = this.#more;
    extras.release?.();
    extras.release = undefined;
    extras.onAbort = undefined;
  }

  // —— Beginning ——

  #begin(
    budget: 'shared' | 'own',
    timeoutMs: number,
    signal: AbortSignal | undefined,
    resumption: Resumption | undefined,
  ): void {
    const parent = this.parent;
    const { events } = this.host;
    if (events.observed) tellOfBegin(this, this.terms.rules, budget, resumption?.saved);
    // Before anyone can end the run, and so its actor.
    const under = this.#inspectedAbove();
    const { inspect } = this.host;
    if (under !== undefined || inspect !== undefined) this.#actorIn({ under, inspect });
    if (resumption?.inFlight === 'interrupt') this.#interruptCalls(resumption.saved.calls);
    if (this.#finished) return;
    if (parent !== null) {
      if (parent.#finished) {
        const { abortedWith } = parent.#more;
        this.abort(abortedWith === undefined ? PARENT_ENDED : abortedWith.reason);
        return;
      }
      parent.#more.children ??= new Set();
      parent.#more.children.add(this);
    }
    if (signal?.aborted) {
      this.abort(signal.reason);
      return;
    }
    if (signal === undefined && timeoutMs === Number.POSITIVE_INFINITY) return;
    const onAbort = () => this.#interrupt(signal?.reason);
    const timer =
      timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : setTimeout(() => this.#timeout(timeoutMs), timeoutMs);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#more.release = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
  }

  // —— Saving and resuming (SPEC §11) ——

  save(options: SaveOptions = {}): SavedRun {
    const { parentCall, payer, maxDepth } = this.nesting;
    const saved: SavedRun = {
      version: 1,
      rules: hashRules(this.terms.rules),
      id: this.id,
      state: this.state,
      callsAsked: this.#callsAsked,
      calls: this.callsInFlight.map(({ seq, id, tool, parent }) => ({
        seq,
        id,
        tool,
        parent: parent?.status === 'in-flight' ? parent.seq : null,
      })),
      childCalls: this.childPending - this.#reservedBelow(),
      maxDepth: Number.isFinite(maxDepth) ? maxDepth : null,
      parent: parentCall && {
        run: parentCall.run.id,
        call: parentCall.seq,
        callId: parentCall.id,
        budget: payer === null ? 'own' : 'shared',
      },
    };
    return sealed(saved, options);
  }

  /** Calls of runs inside of this one that have a step of its budget reserved, and have not begun. */
  #reservedBelow(): number {
    let reserved = 0;
    for (const child of this.#extras?.children ?? []) {
      if (child.nesting.payer !== null) reserved += child.pending - child.inFlight;
      reserved += child.#reservedBelow();
    }
    return reserved;
  }

  #restore(saved: SavedRun): void {
    const { id, state, callsAsked, calls, childCalls } = saved;
    const { phase, stepCount, loopCount, finished, reason } = state;
    for (let run = this.nesting.payer; run !== null; run = run.parent) {
      run.#checkChild(id, stepCount, calls.length + childCalls);
    }
    for (let run = this.nesting.payer; run !== null && calls.length > 0; run = run.parent) {
      run.#more.unclaimedCalls -= calls.length;
    }
    this.restorePosition(saved);
    this.#callsAsked = callsAsked;
    if (childCalls > 0) this.#more.unclaimedCalls = childCalls;
    if (finished) {
      const extras = this.#more;
      this.#finished = true;
      extras.reason = reason;
      extras.abortedWith = reason === null ? undefined : { reason };
      extras.endedFrom = Object.keys(loopCount)[0] ?? phase;
    }
    const bySeq = new Map<number | null, SupervisedCall>();
    for (const { seq, id, tool, parent } of calls) {
      const call = new SupervisedCall(this, tool, undefined, seq, id, bySeq.get(parent) ?? null);
      call.status = 'in-flight';
      bySeq.set(seq, call);
      this.#active = pushCall(this.#active, call);
    }
  }

  /** What a child run has spent and promised of a budget that it shares, this run has counted when both were saved. */
  #checkChild(id: string, steps: number, calls: number): void {
    const unclaimed = this.#extras?.unclaimedCalls ?? 0;
    if (this.stepCount >= steps && unclaimed >= calls) return;
    throw new SavedRunError(
      'parent',
      'parent',
      `run ${describe(id)} has made ${steps} steps and has ${calls} calls in flight, and of these run ` +
        `${describe(this.id)}, whose budget it shares, knows ${this.stepCount} and ${unclaimed}`,
    );
  }

  /** They may have taken effect, so each is charged (SPEC §11.2); the innermost first, as they would have ended. */
  #interruptCalls(saved: readonly SavedCall[]): void {
    if (saved.length === 0) return;
    this.#more.interrupted = saved;
    for (const call of callsOf(this.#active).reverse()) this.#endCall(call, true, undefined, true);
  }

  // —— The deadline ——

  #timeout(timeoutMs: number): void {
    this.#interrupt(new RunAbortedError('run-timeout', this.id, `timeout after ${timeoutMs} ms`));
  }

  #interrupt(reason: unknown): void {
    if (this.#finished) this.#giveUp(reason);
    else this.abort(reason);
  }

  // —— One call, from the question to its end ——

  #parentOf(given: Call | null | undefined): SupervisedCall | null {
    if (given === undefined) return innermostCallOf(this);
    const call = ownCall('parent', given);
    if (call !== null && call.run !== this) {
      throw invalidArgument('parent', `a call of run ${this.id}`, `a call of run ${call.run.id}`);
    }
    return call;
  }

  #wait(call: SupervisedCall): Promise<SupervisedCall> {
    return new Promise((resolve, reject) => {
      call.status = 'waiting';
      if (call.times !== undefined) call.times.turn = undefined;
      const extras = this.#more;
      extras.waiting = pushCall(extras.waiting, call);
      const { waitTimeoutMs, events } = this.host;
      const timer =
        waitTimeoutMs === Number.POSITIVE_INFINITY
          ? undefined
          : setTimeout(() => this.#waitedTooLong(call), waitTimeoutMs);
      call.waiter = { resolve, reject, timer };
      if (events.observed) tellOfWaiting(call);
    });
  }

  #waitedTooLong(call: SupervisedCall): void {
    this.#more.waiting = removeCall(this.#more.waiting, call);
    const { waitTimeoutMs } = this.host;
    const other = this.#active?.tool ?? 'another call';
    const message =
      `Cannot call ${call.tool}: waited ${waitTimeoutMs} ms for ${other}, which is still running. ` +
      `If ${other} itself makes this call, hand on its context: ctx.callTool(...), or { parent: ctx }`;
    this.#answer(call, this.#refuse(call, 'wait-timeout', message, 'enforcement', null));
  }

  #serveWaiting(): void {
    for (let call = this.#extras?.waiting; call !== undefined; call = this.#extras?.waiting) {
      if (this.pending > 0 || this.#finished) return;
      this.#more.waiting = removeCall(call, call);
      clearTimeout(call.waiter?.timer);
      const { waiter, times } = call;
      if (times !== undefined) times.turn = performance.now();
      const answer = this.#decide(call);
      if (answer instanceof Promise) answer.then(waiter?.resolve, waiter?.reject);
      else {
        call.waiter = waiter;
        this.#answer(call, answer);
      }
    }
  }

  /** Gives the answer to whoever awaits it. */
  #answer(call: SupervisedCall, answer: SupervisedCall | Refusal): void {
    const { waiter } = call;
    call.waiter = undefined;
    clearTimeout(waiter?.timer);
    if (answer instanceof Refusal) waiter?.reject(answer.toError());
    else waiter?.resolve(answer);
  }

  /** Decides, reserves, and admits at once when there is no check to run. */
  #decide(
    call: SupervisedCall,
    checks = this.host.checks,
  ): SupervisedCall | Refusal | Promise<SupervisedCall> {
    const { dfa } = this.host;
    const acting = this.phase === 'ACTING';
    const joins = !call.nested && this.pending > 0;
    // Without the stage its own budget and table hold nothing back, but that of an ancestor which has it does (SPEC §10.2).
    if (dfa ? this.stepOfCall(acting && joins) === undefined : this.exhaustedAncestor() !== undefined)
      return this.#refuseByBudgetOrTable(call, joins);
    const before = checks === undefined ? undefined : this.state;
    this.#reserve(call, acting && !joins);
    if (checks === undefined || before === undefined) return this.#enterActing(call);
    tellOfReservation(call);
    // Whoever heard of it may have ended the run just now.
    return call.outcome instanceof Refusal ? call.outcome : this.#check(call, before, checks);
  }

  #refuseByBudgetOrTable(call: SupervisedCall, joins: boolean): Refusal {
    const { rules } = this.terms;
    const own = this.host.dfa ? refuseAction(rules.table, rules, this, joins) : undefined;
    const ancestor = own === 'step-budget' ? undefined : this.exhaustedAncestor();
    const code = ancestor === undefined ? own : 'step-budget';
    // The table has refused, and a row whose refusals have no reason does not compile.
    if (code === undefined) throw new Error(`A call was refused in ${this.phase} for no reason`);
    const message =
      ancestor === undefined
        ? refusalMessage(code, rules.table, rules, this)
        : this.ancestorMessage(ancestor);
    const endsIn = !call.nested && this.pending === 0 ? this.endByBudget(ancestor === undefined) : undefined;
    return this.#refuse(call, code, message, 'dfa', null, endsIn);
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
    const { rules } = this.terms;
    const path = rules.table.pathToActing(before.phase) ?? [];
    const dfa = decision(rules, before, this, undefined, path);
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
    const result = readAnswer(answer);
    if (result.allowed) {
      this.#answer(call, this.#enterActing(call));
    } else {
      this.#giveBack(call);
      const { code, message, stage } = result;
      const endsIn = !call.nested && this.pending === 0 ? this.endByMonitor() : undefined;
      this.#answer(call, this.#refuse(call, code, message, stage, result.result, endsIn));
    }
    if (this.pending === 0) this.#serveWaiting();
  }

  #reserve(call: SupervisedCall, selfLoop: boolean): void {
    call.status = 'reserved';
    call.selfLoop = selfLoop;
    this.reserveStep(selfLoop);
    this.#active = pushCall(this.#active, call);
  }

  #giveBack(call: SupervisedCall): void {
    this.giveStepBack(call.selfLoop);
    this.#active = removeCall(this.#active, call);
  }

  /** Takes the path, and the call is in flight. */
  #enterActing(call: SupervisedCall): SupervisedCall | Refusal {
    const { dfa, events } = this.host;
    if (events.required) {
      const refusal = this.#askObservers(call);
      if (refusal !== undefined) return refusal;
    }
    const inFlight = this.inFlight;
    const joins = this.joins(call.selfLoop);
    const step = this.stepOfReserved(call.selfLoop);
    if (step === undefined) {
      this.#giveBack(call);
      const { rules } = this.terms;
      const message = refusalMessage('action-unreachable', rules.table, rules, this);
      return this.#refuse(call, 'action-unreachable', message, 'dfa', null);
    }
    const actor = this.#extras?.actor;
    // What the machine has no event for, the actor follows: a call on no edge, or one that joined what has ended since.
    const follows = !dfa || (joins && inFlight === 0);
    const disagreement =
      actor && (follows ? actor.fault : actor.take(eventsOf(step, joins), this.standingAfter(step)));
    if (disagreement !== undefined) {
      this.#giveBack(call);
      return this.#refuse(call, 'actor-disagrees', disagreement, 'dfa', null);
    }
    // All hops are taken before anyone hears of the first: a listener may call a tool in turn.
    this.take(step);
    if (call.selfLoop) this.pendingLoops -= 1;
    call.status = 'in-flight';
    call.outcome = step;
    this.#recordCall(call);
    if (follows) actor?.follow({ type: 'call.start' }, this.standing);
    actor?.tell();
    const told = !events.observed || (!this.#finished && tellOfStart(call, step.path));
    call.args = undefined;
    // A listener may have ended the run just now.
    return this.#finished ? this.#takeBack(call, told) : call;
  }

  /** Refuses a call that those do not let start on whom calls depend. They are asked before anything has changed. */
  #askObservers(call: SupervisedCall): Refusal | undefined {
    const step = this.stepOfReserved(call.selfLoop);
    if (step === undefined) return undefined;
    const why = askOfStart(call, step.path, this.standingAfter(step).loopCount);
    // One of them may have ended the run just now, and the call with it.
    if (call.outcome instanceof Refusal) return call.outcome;
    if (why === undefined) return undefined;
    this.#giveBack(call);
    return this.#refuse(call, 'observer-failed', `Cannot call ${call.tool}: ${why}`, 'enforcement', null);
  }

  /** Refuses a call that was admitted, and whose body has not started when the run ended. */
  #takeBack(call: SupervisedCall, told: boolean): Refusal {
    const message = this.#endedMessage(call.tool);
    const refusal = new Refusal(call, 'run-completed', message, 'enforcement', null);
    call.outcome = refusal;
    if (told) {
      this.#endCall(call, false, refusal.toError());
      return refusal;
    }
    this.land(undefined);
    this.#active = removeCall(this.#active, call);
    this.#chargeAncestors(false);
    call.status = 'refused';
    tellOfRefusal(call, refusal);
    return refusal;
  }

  /** @param outcome What the call came to, or why it failed. */
  #endCall(call: SupervisedCall | null, ok: boolean, outcome: unknown, interrupted = false): void {
    if (call?.run !== this)
      throw invalidArgument('call', `a call of run ${this.id}`, call && `a call of run ${call.run.id}`);
    if (call.status !== 'in-flight') return;
    call.status = 'ended';
    const late = this.#finished;
    const from = this.phase;
    const step = late ? undefined : this.stepOfEnd(ok);
    this.land(step);
    this.#active = removeCall(this.#active, call);
    const actor = this.#extras?.actor;
    if (step !== undefined) actor?.take([{ type: ok ? 'call.succeed' : 'call.fail' }], this.standing);
    this.#chargeAncestors(ok);
    actor?.tell();
    if (this.host.events.observed) {
      const time = Date.now();
      if (step !== undefined && step.to.phase !== from) tellOfPhase(this, time, from, step.to.phase);
      tellOfCallEnd(call, time, ok, late, interrupted, outcome);
    }
    if (this.pending === 0) this.#serveWaiting();
  }

  // —— The actor, where there is one ——

  #actorIn(place: Omit<ActorPlace, 'id'>): RunActor {
    const { rules, table } = this.terms;
    const extras = this.#more;
    const standing = this.#finished ? { ...this.standing, loopCount: 0 } : this.standing;
    extras.actor ??= new RunActor(table.machine, rules, standing, extras.reason, { ...place, id: this.id });
    return extras.actor;
  }

  /** The child runs that began before anyone looked. */
  #makeActorsUnder(under: RunActor): void {
    for (const child of this.#extras?.children ?? []) child.#makeActorsUnder(child.#actorIn({ under }));
  }

  /** The nearest actor that is inspected: its inspectors are to see this run under it. One that has ended takes no more. */
  #inspectedAbove(): RunActor | undefined {
    for (let run = this.parent; run !== null; run = run.parent) {
      const actor = run.#extras?.actor;
      if (actor?.inspected && run.live) return actor;
    }
    return undefined;
  }

  // —— Refusals ——

  #refuseEnded(call: SupervisedCall): Refusal {
    return this.#refuse(call, 'run-completed', this.#endedMessage(call.tool), 'enforcement', null);
  }

  #endedMessage(tool: string): string {
    const reason = this.#extras?.reason ?? null;
    const why = reason === null ? '' : `: ${reason}`;
    return `Cannot call ${tool}: agent run is already completed${why}`;
  }

  #refuse(
    call: SupervisedCall,
    code: RefusalCode | (string & {}),
    message: string,
    stage: Stage,
    result: ValidationResult | null,
    endsIn?: Phase,
  ): Refusal {
    const refusal = new Refusal(call, code, message, stage, result, endsIn);
    call.status = 'refused';
    call.outcome = refusal;
    tellOfRefusal(call, refusal);
    call.args = undefined;
    if (endsIn !== undefined) {
      this.#end(endsIn === 'REJECTED' ? 'run.reject' : 'run.exhaust', endsIn, { reason: message });
    }
    this.#recordCall(call);
    return refusal;
  }

  // —— Budgets shared with ancestors ——

  /** A call was made, so whoever shares his budget pays for it, also when it ends too late for this run. */
  #chargeAncestors(ok: boolean): void {
    const { payer } = this.nesting;
    for (let run = payer; run !== null; run = run.parent) {
      run.childPending -= 1;
      if (!ok || run.#finished) continue;
      run.stepCount += 1;
      run.#extras?.actor?.follow({ type: 'child.succeed' }, run.standing);
    }
    // Once all have counted it: an inspector may save them, and they are resumed together or not at all.
    for (let run = payer; run !== null; run = run.parent) run.#extras?.actor?.tell();
  }

  // —— The end ——

  #end(event: PhaseEvent['type'], phase: Phase, aborted: { readonly reason: unknown } | undefined): void {
    if (this.#finished) return;
    this.#close(phase, aborted);
    this.#tellOfEnd(event);
  }

  /** Ends the run and its children before anyone hears of it: whoever does may use any of them (SPEC §10.4). */
  #close(phase: Phase, aborted: { readonly reason: unknown } | undefined): void {
    const extras = this.#more;
    this.#finished = true;
    extras.reason = aborted === undefined ? null : reasonText(aborted.reason);
    extras.abortedWith = aborted;
    extras.endedFrom = this.phase;
    this.stopIn(phase);
    // A run that its budget has ended may have an agent that still does not answer: the deadline bounds that too (SPEC §6.3).
    if (extras.onAbort === undefined) this.#release();
    const reason = aborted === undefined ? PARENT_ENDED : aborted.reason;
    for (const child of extras.children ?? []) child.#close('ANSWERING', { reason });
  }

  #tellOfEnd(event: PhaseEvent['type']): void {
    const extras = this.#more;
    const { children = [], abortedWith: aborted, endedFrom: from, reason } = extras;
    extras.children = undefined;
    this.#leaveParent();
    for (const child of children) {
      child.#tellOfEnd('run.abort');
      child.#giveUp(child.#more.abortedWith?.reason);
    }
    this.#endActor(event);
    this.#refuseAllWhoWait();
    if (aborted !== undefined) extras.controller?.abort(aborted.reason);
    if (this.host.events.observed) {
      const time = Date.now();
      if (from !== undefined && from !== this.phase) tellOfPhase(this, time, from, this.phase);
      tellOfRunEnd(this, time, reason);
    }
  }

  #endActor(type: PhaseEvent['type']): void {
    const { actor, reason } = this.#more;
    if (actor === undefined) return;
    const standing = { ...this.standing, loopCount: 0 };
    // A run may end for the budget of an ancestor, which its machine does not know.
    if (type === 'run.exhaust') actor.follow({ type }, standing, reason);
    else actor.take([reason === null ? { type } : ({ type, reason } as PhaseEvent)], standing);
    actor.tell();
  }

  #leaveParent(): void {
    const { parent } = this;
    if (parent !== null) parent.#extras?.children?.delete(this);
  }

  #refuseAllWhoWait(): void {
    const extras = this.#more;
    for (let call = extras.waiting; call !== undefined; call = extras.waiting) {
      extras.waiting = removeCall(call, call);
      this.#answer(call, this.#refuseEnded(call));
    }
    // Whoever is answered may end calls in turn, so each is looked at again.
    for (const call of callsOf(this.#active)) {
      if (call.status !== 'reserved') continue;
      this.#giveBack(call);
      this.#answer(call, this.#refuseEnded(call));
    }
  }

  // —— The log ——

  #recordCall(call: SupervisedCall): void {
    call.time = Date.now();
    call.stepCount = this.stepCount;
    call.loopCount = this.loopCount;
    call.inFlight = this.inFlight;
    this.record(call);
  }
}

const NO_CALL = { seq: 0, id: null };
const NO_CALLS: readonly SavedCall[] = Object.freeze([]);
// The events that the machine takes for the step of a call.
function eventsOf({ path }: Step, joins: boolean): PhaseEvent[] {
  const hops = path.slice(1, -1).map((phase): PhaseEvent => ({ type: `propose.${phase}` }));
  return [...hops, { type: joins ? 'call.join' : 'call.start' }];
}

import type { Call } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';
import { PhasegateError, RunAbortedError } from '../errors.ts';
import type { Run } from '../run.ts';
import type { SupervisedRun } from '../supervised-run.ts';
import type { Decision } from '../supervisor.ts';
import type { RunHost } from '../terms.ts';
import { admitted, callEnded, noActiveRun, refusal, refusalFor, refused, viewOf } from './answers.ts';
import {
  type Answer,
  type CallName,
  type Change,
  finiteOrNull,
  type RefusedDetails,
  type Requests,
} from './protocol.ts';

/** How long the object keeps what, in milliseconds. */
export interface TreeLimits {
  /** How long a call in flight may give no sign of life until it is charged as if it had ended well. */
  readonly leaseMs: number;
  /** How long nothing may be asked of a tree until its outermost run is aborted. */
  readonly idleMs: number;
  /** How long a tree is kept whose outermost run has ended. */
  readonly retentionMs: number;
}

/** A run of the tree. */
export interface Branch {
  readonly run: Run;
  /** The request that began it: the same request once more is answered the same. */
  readonly op: string;
  readonly parent: CallName | null;
  readonly timeoutMs: number | null;
  readonly deadline: number | null;
  timedOut: boolean;
}

/** A call in flight, with the time at which its machine is taken for dead. */
export interface OpenCall {
  readonly branch: Branch;
  readonly call: Call;
  /** `null`: never. */
  leaseUntil: number | null;
  /** Whether it came from the line, and whoever waited has yet to say that he knows: before that no body starts. */
  offered: boolean;
}

/** A call in line, with whom to wake when it is decided. */
export interface WaitingCall {
  readonly asked: Requests['beforeCall'];
  readonly until: number | null;
  readonly awakeables: string[];
}

/** What is remembered of a request that is over: what it was answered, or that its call has ended. */
export type Settled =
  | { readonly ended: { readonly tool: string; readonly callId: string } }
  | { readonly refusal: RefusedDetails }
  | { readonly decision: Decision };

/** What a tree is made of. */
export interface TreeParts {
  readonly branches: Map<string, Branch>;
  /** The calls in flight, by their key. */
  readonly open: Map<string, OpenCall>;
  /** The calls in line, by their key, in the order in which they came. */
  readonly waiting: Map<string, WaitingCall>;
  /** The latest requests that are over, should they come once more. */
  readonly settled: Map<string, Settled>;
  /** When something was last asked. */
  touched: number;
  /** When the outermost run ended. */
  endedAt: number | null;
  /** When the object will be called for what is due. */
  tendAt: number | null;
}

/** How many requests are remembered that are over. A client repeats one for a minute or so. */
const MOST_SETTLED = 100;
/** How many child runs are kept that have ended. Of others it is only known that they are not live. */
const MOST_ENDED = 50;

/**
 * An outermost run with its child runs, at one moment, as one object of Restate holds them: a call is decided, and charged to
 * all whose budgets it shares, in one step, and the end of a run ends its children first (SPEC §10). The decisions are those
 * of the core. What several machines need besides is here: requests that come twice, a line to wait in, leases of calls whose
 * machine may have died, and times at which something is due.
 */
export class Tree {
  readonly #enforcement: Enforcement;
  readonly #limits: TreeLimits;
  readonly #now: number;
  readonly parts: TreeParts;
  /** Who is told what by the changes so far: answers, by the awakeable of who waits for them. */
  readonly wakes = new Map<string, Answer>();

  constructor(enforcement: Enforcement, limits: TreeLimits, now: number, parts: TreeParts) {
    this.#enforcement = enforcement;
    this.#limits = limits;
    this.#now = now;
    this.parts = parts;
  }

  /**
   * Makes a change.
   *
   * @throws {PhasegateError} (rejects) when it cannot be made. The tree is to be thrown away then: nothing of it holds.
   */
  async change<Name extends Change>(name: Name, request: Requests[Name]): Promise<Answer> {
    this.parts.touched = this.#now;
    this.#endOverdue();
    const answer = await this.#changes[name](request);
    await this.#serveLine();
    return answer ?? { is: 'done', view: viewOf(this.#branch(request.run)) };
  }

  /** @throws {PhasegateError} `run-unknown`. */
  state({ run }: Requests['state']): Answer {
    return this.#show(this.#branch(run));
  }

  /** Lets happen what is due. @returns Whether the tree is to be kept. */
  async tend(): Promise<boolean> {
    const { branches, open, waiting, touched, endedAt } = this.parts;
    const { idleMs, retentionMs } = this.#limits;
    const now = this.#now;
    this.parts.tendAt = null;
    if (endedAt !== null && endedAt + retentionMs <= now) return false;
    this.#endOverdue();
    for (const branch of branches.values()) {
      if (branch.parent !== null || touched + idleMs > now) continue;
      end(branch, `nothing asked for ${idleMs} ms`, false);
    }
    // Its tool may have done its work, so it is charged (SPEC §11.2); not if it was only offered.
    for (const [key, { leaseUntil, offered }] of open) {
      if (leaseUntil !== null && leaseUntil <= now) this.#endCall(key, !offered);
    }
    for (const [key, { asked, until }] of waiting) {
      if (until !== null && until <= now) this.#refuseWaiting(key, asked);
    }
    await this.#serveLine();
    return true;
  }

  /** Ends runs at their deadlines, also when Restate, which may have been down, has yet to call for that. */
  #endOverdue(): void {
    for (const branch of this.parts.branches.values()) {
      const { deadline, timeoutMs } = branch;
      if (deadline !== null && deadline <= this.#now) end(branch, `timeout after ${timeoutMs} ms`, true);
    }
  }

  /**
   * Sees that {@link tend} is called when something is due that nobody asks for.
   *
   * @returns In how many milliseconds it is to be called, or `null` when that is arranged already, or never.
   */
  schedule(): number | null {
    const { tendAt } = this.parts;
    const due = this.#due;
    // One that is past came to nothing, or is about to come.
    const isArranged = tendAt !== null && tendAt > this.#now && tendAt <= due;
    if (isArranged || due === Number.POSITIVE_INFINITY) return null;
    this.parts.tendAt = due;
    return Math.max(0, due - this.#now);
  }

  get #due(): number {
    const { branches, open, waiting, touched, endedAt } = this.parts;
    const { idleMs, retentionMs } = this.#limits;
    const times: (number | null)[] = [endedAt === null ? touched + idleMs : endedAt + retentionMs];
    for (const { run, deadline } of branches.values()) if (!run.state.finished) times.push(deadline);
    for (const { leaseUntil } of open.values()) times.push(leaseUntil);
    for (const { until } of waiting.values()) times.push(until);
    return Math.min(...times.filter((time) => time !== null));
  }

  readonly #changes: { [Name in Change]: (request: Requests[Name]) => Answer | undefined | Promise<Answer> } =
    {
      begin: ({ op, run: id, parent, timeoutMs, budget, maxDepth }) => {
        const { branches } = this.parts;
        const known = branches.get(id);
        if (known !== undefined) {
          if (known.op === op) return this.#show(known);
          throw new PhasegateError(
            'run-exists',
            `There is a run ${id} already, or was one until a while ago`,
          );
        }
        const run = this.#enforcement.beginRun({
          id,
          parent: parent === null ? null : this.#openCall(parent).call,
          budget,
          maxDepth: maxDepth === null ? Number.POSITIVE_INFINITY : maxDepth,
        });
        const deadline = timeoutMs === null ? null : this.#now + timeoutMs;
        const branch: Branch = { run, op, parent, timeoutMs, deadline, timedOut: false };
        branches.set(id, branch);
        return this.#show(branch);
      },

      beforeCall: (asked) => {
        const { branches, waiting } = this.parts;
        const branch = branches.get(asked.run);
        if (branch === undefined) return refused(noActiveRun(asked));
        const known = this.#answerTo(asked.call, branch);
        if (known !== undefined) return known;
        if (!this.#mustWait(asked, branch)) return this.#decide(asked, branch, false);
        const { waitTimeoutMs } = hostOf(branch);
        const until = finiteOrNull(this.#now + waitTimeoutMs);
        waiting.set(asked.call, { asked, until, awakeables: [] });
        return this.#answerTo(asked.call, branch);
      },

      lineUp: ({ run, call, awakeable }) => {
        this.parts.waiting.get(call)?.awakeables.push(awakeable);
        return this.#answerAgain(run, call);
      },

      afterCall: ({ call }) => this.#endCall(call, true),

      failCall: ({ run, call, error }) => {
        const { open, settled } = this.parts;
        if (open.has(call)) return this.#endCall(call, false, new Error(error));
        // Whoever gives up waiting for an answer says so by this, and it may come ahead of the question.
        const asked = this.parts.waiting.get(call)?.asked;
        const { tool = 'the tool', callId = null } = asked ?? {};
        const message = `Cannot call ${tool}: whoever asked for this call has given it up`;
        if (!settled.has(call)) {
          const branch = this.#branch(run);
          this.#refuse(call, refusal(branch, { tool, callId }, { code: 'call-withdrawn', message }), branch);
        }
        return undefined;
      },

      renewCall: ({ run, call }) => {
        const open = this.parts.open.get(call);
        if (open !== undefined) Object.assign(open, { leaseUntil: this.#leaseUntil, offered: false });
        return this.#answerAgain(run, call);
      },

      propose: ({ op, run, target }) => {
        const branch = this.#branch(run);
        const known = this.parts.settled.get(op);
        const decision = known && 'decision' in known ? known.decision : branch.run.propose(target);
        this.#remember(op, { decision });
        return { is: 'decided', decision, view: viewOf(branch) };
      },

      finish: ({ run }) => this.#branch(run).run.finish() as undefined,

      abort: ({ run, reason, timedOut }) => end(this.#branch(run), reason, timedOut),
    };

  // —— Calls ——

  #mustWait({ parent }: Requests['beforeCall'], branch: Branch): boolean {
    const { open, waiting } = this.parts;
    const { finished, inFlight } = branch.run.state;
    if (finished || hostOf(branch).parallel !== 'serialize') return false;
    if (parent !== null && open.get(parent)?.branch === branch) return false;
    return inFlight > 0 || [...waiting.values()].some(({ asked }) => asked.run === branch.run.id);
  }

  async #decide(asked: Requests['beforeCall'], branch: Branch, offered: boolean): Promise<Answer> {
    const { open } = this.parts;
    const { call: key, tool, args, callId } = asked;
    const parent = asked.parent === null ? undefined : open.get(asked.parent);
    try {
      const call = await branch.run.beforeCall(tool, args, {
        callId: callId ?? undefined,
        parent: parent?.call ?? null,
      });
      open.set(key, { branch, call, leaseUntil: this.#leaseUntil, offered });
      const answer = admitted(key, call, branch);
      this.#wake(key, answer);
      return answer;
    } catch (error) {
      // What cannot be asked for like this is refused too: one in line would else be decided again with each change, in vain.
      return this.#refuse(key, refusalFor(error, asked, branch), branch);
    }
  }

  /** Ends a call in flight; one that is not in flight stays as it is (SPEC §5.4). */
  #endCall(key: string, ok: boolean, error?: Error): undefined {
    const { open } = this.parts;
    const one = open.get(key);
    if (one === undefined) return undefined;
    const { branch, call } = one;
    open.delete(key);
    if (ok) branch.run.afterCall(call);
    else branch.run.failCall(call, error);
    this.#remember(key, { ended: { tool: call.tool, callId: call.id } });
    return undefined;
  }

  /** What a call was answered that was asked for before; once it is over it is not admitted any more. */
  #answerTo(key: string, branch: Branch): Answer | undefined {
    const { open, waiting, settled } = this.parts;
    const call = open.get(key)?.call;
    if (call !== undefined) return admitted(key, call, branch);
    const line = waiting.get(key);
    const over = settled.get(key);
    if (over !== undefined && 'refusal' in over) return refused(over.refusal, branch);
    if (over !== undefined && 'ended' in over) return refused(callEnded(over.ended, branch), branch);
    if (line === undefined) return undefined;
    const waitMs = line.until === null ? null : Math.max(0, line.until - this.#now);
    return { is: 'waiting', call: key, waitMs, view: viewOf(branch) };
  }

  #answerAgain(run: string, call: string): Answer {
    const answer = this.#answerTo(call, this.#branch(run));
    if (answer !== undefined) return answer;
    throw new PhasegateError(
      'call-unknown',
      `Run ${run} was not asked for call ${call}, or it is over for long`,
    );
  }

  #refuse(key: string, details: RefusedDetails, branch: Branch): Answer {
    const answer = refused(details, branch);
    this.#wake(key, answer);
    this.#remember(key, { refusal: details });
    return answer;
  }

  /** Gives an answer to whoever waits in line for it. */
  #wake(key: string, answer: Answer): void {
    const { waiting } = this.parts;
    for (const awakeable of waiting.get(key)?.awakeables ?? []) this.wakes.set(awakeable, answer);
    waiting.delete(key);
  }

  #remember(key: string, over: Settled): void {
    const { settled } = this.parts;
    settled.set(key, over);
    for (const [oldest] of settled) if (settled.size > MOST_SETTLED) settled.delete(oldest);
  }

  /** Decides on the calls whose turn has come, and those whose run has ended. */
  async #serveLine(): Promise<void> {
    for (const { asked } of this.parts.waiting.values()) {
      const branch = this.#branch(asked.run);
      const { finished, inFlight } = branch.run.state;
      if (finished || inFlight === 0) await this.#decide(asked, branch, true);
    }
    this.#lookForEnds();
  }

  #lookForEnds(): void {
    const { branches } = this.parts;
    const around = new Set([...branches.values()].map(({ parent }) => parent?.run));
    const ended: string[] = [];
    for (const [id, { parent, run }] of branches) {
      const { finished, inFlight } = run.state;
      if (parent === null && finished) this.parts.endedAt ??= this.#now;
      if (parent !== null && finished && inFlight === 0 && !around.has(id)) ended.push(id);
    }
    for (const id of ended.slice(0, Math.max(0, ended.length - MOST_ENDED))) branches.delete(id);
  }

  #refuseWaiting(key: string, asked: Requests['beforeCall']): void {
    const branch = this.#branch(asked.run);
    const others = [...this.parts.open.values()].filter((open) => open.branch === branch);
    const { waitTimeoutMs } = hostOf(branch);
    const message =
      `Cannot call ${asked.tool}: waited ${waitTimeoutMs} ms for ${others[0]?.call.tool ?? 'another call'}, ` +
      'which is still running';
    this.#refuse(key, refusal(branch, asked, { code: 'wait-timeout', message }), branch);
  }

  // —— What is where ——

  get #leaseUntil(): number | null {
    return finiteOrNull(this.#now + this.#limits.leaseMs);
  }

  #branch(run: string): Branch {
    const branch = this.parts.branches.get(run);
    if (branch !== undefined) return branch;
    throw new PhasegateError('run-unknown', `There is no run ${run}, or it ended a while ago`);
  }

  #openCall({ run, call }: CallName): OpenCall {
    const open = this.parts.open.get(call);
    if (open?.branch.run.id === run) return open;
    throw new PhasegateError('call-unknown', `Run ${run} has no call ${call} in flight`);
  }

  #show(branch: Branch): Answer {
    return {
      is: 'run',
      view: viewOf(branch),
      parent: branch.parent,
      leaseMs: finiteOrNull(this.#limits.leaseMs),
      action: branch.run.validateActionPhase(),
    };
  }
}

/** The enforcement's options, which a run of the core knows. */
function hostOf({ run }: Branch): RunHost {
  return (run as SupervisedRun).host;
}

function end(branch: Branch, reason: string, timedOut: boolean): undefined {
  const { run } = branch;
  if (run.state.finished) return;
  branch.timedOut = timedOut;
  run.abort(timedOut ? new RunAbortedError('run-timeout', run.id, reason) : reason);
}

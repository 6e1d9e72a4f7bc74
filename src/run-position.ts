import type { SupervisedCall } from './call.ts';
import { condition } from './compile.ts';
import { type Position, stepBudgetMessage, withinLoopBudget, withinStepBudget } from './decide.ts';
import { RunLog } from './log.ts';
import type { PhaseRow, Step } from './move-table.ts';
import type { Nesting } from './nesting.ts';
import type { Phase } from './phases.ts';
import type { Standing } from './run-actor.ts';
import type { SavedRun } from './saved-run.ts';
import type { SupervisedRun } from './supervised-run.ts';
import type { RunHost, Terms } from './terms.ts';

/**
 * Where a run is in its table, what it has spent and promised of its budgets, and which step it would take from there. It
 * decides nothing and tells nobody. A run is one itself, as it is its log.
 */
export abstract class RunPosition extends RunLog implements Position {
  protected readonly terms: Terms;
  protected readonly nesting: Nesting;

  #at: PhaseRow;
  stepCount = 0;
  pending = 0;
  childPending = 0;
  loopCount = 0;
  pendingLoops = 0;
  #inFlight = 0;

  constructor(terms: Terms, nesting: Nesting) {
    super();
    this.terms = terms;
    this.nesting = nesting;
    this.#at = terms.table.row('IDLE');
  }

  get host(): RunHost {
    return this.terms.host;
  }

  get phase(): Phase {
    return this.#at.phase;
  }

  get parentCall(): SupervisedCall | null {
    return this.nesting.parentCall;
  }

  get parent(): SupervisedRun | null {
    return this.nesting.parentCall?.run ?? null;
  }

  get depth(): number {
    return this.nesting.depth;
  }

  get maxDepth(): number {
    return this.nesting.maxDepth;
  }

  protected override get logLimit(): number {
    return this.terms.host.logLimit;
  }

  protected get inFlight(): number {
    return this.#inFlight;
  }

  protected get standing(): Standing {
    const { phase, stepCount, loopCount } = this;
    return { phase, stepCount, loopCount, inFlight: this.#inFlight };
  }

  /** Where a step would lead. */
  protected standingAfter({ to, steps, inFlight, loops }: Step): Standing {
    return {
      phase: to.phase,
      stepCount: this.stepCount + steps,
      loopCount: loops === 'forgotten' ? 0 : this.loopCount + (loops === 'counted' ? 1 : 0),
      inFlight: this.#inFlight + inFlight,
    };
  }

  // —— The step that would be taken now ——

  /** That of a proposal which is allowed. */
  protected stepTo(target: Phase): Step {
    const step = this.#at.proposals.get(target)?.[this.conditionNow()];
    // A row that is not of one mind with `decide.ts` does not compile.
    if (step === undefined)
      throw new Error(`${this.phase} -> ${target} was allowed, and is not in the table`);
    return step;
  }

  /** That of a call, reservations and the budgets of ancestors counted. */
  protected stepOfCall(joins: boolean): Step | undefined {
    const index = this.conditionNow(this.exhaustedAncestor() === undefined);
    return joins ? this.#at.join[(index & ROOMS) | ONE_IN_FLIGHT] : this.#at.start[index];
  }

  /**
   * That of a call which is reserved. While it was checked others may have moved the run, so it is the one from where that is
   * now. The reservation is among what is taken, so there is room. Those that it joined may have ended since.
   */
  protected stepOfReserved(selfLoop: boolean): Step | undefined {
    const from = this.#at;
    const inFlight = condition(true, true, this.#inFlight);
    return (
      (this.joins(selfLoop) ? from.join[inFlight || ONE_IN_FLIGHT] : from.start[inFlight]) ??
      (this.host.dfa ? undefined : from.unchecked)
    );
  }

  /** Whether a call that is reserved joins a visit to ACTING. */
  protected joins(selfLoop: boolean): boolean {
    return this.#at.phase === 'ACTING' && !selfLoop;
  }

  /** That of the end of a call. */
  protected stepOfEnd(ok: boolean): Step | undefined {
    return (ok ? this.#at.succeed : this.#at.fail)[this.conditionNow()];
  }

  /** The phase in which the run ends when its budget, or that of an ancestor, refuses a call (SPEC §6.5). */
  protected endByBudget(roomAbove: boolean): Phase | undefined {
    return this.#at.exhaust[this.conditionNow(roomAbove)]?.to.phase;
  }

  /** The phase in which the run ends when the monitor refuses a call (SPEC §6.5). */
  protected endByMonitor(): Phase | undefined {
    return this.#at.reject[this.conditionNow()]?.to.phase;
  }

  // Not a `#method`: for the first of its class V8 gives each run one more field.
  protected conditionNow(roomAbove = true): number {
    const { rules } = this.terms;
    return condition(
      roomAbove && withinStepBudget(rules, this.stepCount, this.pending + this.childPending),
      withinLoopBudget(rules, this.loopCount, this.pendingLoops),
      this.#inFlight,
    );
  }

  // —— Moves ——

  protected take({ to, steps, inFlight, loops }: Step): void {
    this.stepCount += steps;
    this.#inFlight += inFlight;
    if (loops === 'counted') this.loopCount += 1;
    else if (loops === 'forgotten') this.loopCount = 0;
    this.#at = to;
  }

  /** A call in flight ends; without a step, because the run has ended before it. */
  protected land(step: Step | undefined): void {
    this.pending -= 1;
    if (step === undefined) this.#inFlight -= 1;
    else this.take(step);
  }

  /** The run ends in a phase. */
  protected stopIn(phase: Phase): void {
    this.#at = this.terms.table.row(phase);
  }

  /** Goes back to where it was saved. */
  protected restorePosition({ state, calls, childCalls }: SavedRun): void {
    const { phase, stepCount, loopCount } = state;
    this.#at = this.terms.table.row(phase);
    this.stepCount = stepCount;
    this.loopCount = Object.values(loopCount)[0] ?? 0;
    this.childPending = childCalls;
    this.pending = calls.length;
    this.#inFlight = calls.length;
  }

  // —— Reservations, and budgets shared with ancestors ——

  protected reserveStep(selfLoop: boolean): void {
    this.pending += 1;
    if (selfLoop) this.pendingLoops += 1;
    for (let run = this.nesting.payer; run !== null; run = run.parent) run.childPending += 1;
  }

  protected giveStepBack(selfLoop: boolean): void {
    this.pending -= 1;
    if (selfLoop) this.pendingLoops -= 1;
    for (let run = this.nesting.payer; run !== null; run = run.parent) run.childPending -= 1;
  }

  /** The nearest run around this one whose step budget has no room for a call of it. */
  protected exhaustedAncestor(): SupervisedRun | undefined {
    for (let run = this.nesting.payer; run !== null; run = run.parent) {
      const { rules, host } = run.terms;
      if (host.dfa && !withinStepBudget(rules, run.stepCount, run.pending + run.childPending)) return run;
    }
    return undefined;
  }

  protected ancestorMessage(ancestor: SupervisedRun): string {
    const whose = ancestor === this.parent ? ' (parent run)' : ' (ancestor run)';
    return stepBudgetMessage(ancestor.terms.rules, ancestor, whose);
  }
}

const ONE_IN_FLIGHT = condition(true, true, 1);
const ROOMS = condition(false, false, 0);

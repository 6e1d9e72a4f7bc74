import { type Actor, createActor, type EventObject, type SnapshotFrom, transition } from 'xstate';
import { messageOf } from './describe.ts';
import { type Inspect, inspectActor, tellOfActor, tellOfSnapshot } from './inspection.ts';
import type { PhaseContext, PhaseEvent, PhaseMachine } from './machine.ts';
import type { Phase } from './phases.ts';
import type { Rules } from './rules.ts';

/** A run as an XState actor of its machine: what inspectors show, and what apps subscribe to. */
export type PhaseActor = Actor<PhaseMachine>;

/** What a run and its actor have to agree on. */
export interface Standing {
  readonly phase: Phase;
  readonly stepCount: number;
  /** Of the present phase. */
  readonly loopCount: number;
  readonly inFlight: number;
}

/** Where an actor lies among others. */
export interface ActorPlace {
  /** Of the run. */
  readonly id: string;
  /** The actor around it, where that one's inspectors are to see it too. */
  readonly under?: RunActor | undefined;
  /** Who is to see it from its first event on. */
  readonly inspect?: Inspect | undefined;
}

/** What happened to the run that its machine has no event for: the actor is put where the run is. */
interface Followed extends EventObject {
  readonly standing: Standing;
  readonly reason: string | null;
}

/**
 * Keeps an actor in step with a run. Each move is first tried on a snapshot, so that a disagreement is known before a
 * call is admitted and before anyone who observes the actor hears of it.
 */
export class RunActor {
  readonly ref: PhaseActor;
  readonly #machine: PhaseMachine;
  #snapshot: SnapshotFrom<PhaseMachine>;
  #untold: (PhaseEvent | Followed)[] = [];
  #telling = false;
  #fault: string | undefined;
  readonly #under: RunActor | undefined;
  /** Those under it that are not over. */
  readonly #below = new Set<RunActor>();
  readonly #inspections = new Set<Inspection>();

  constructor(
    machine: PhaseMachine,
    rules: Rules,
    standing: Standing,
    reason: string | null,
    { id, under, inspect }: ActorPlace,
  ) {
    this.#machine = machine;
    this.#under = under;
    const context = contextOf(rules, standing, reason);
    this.#snapshot = machine.resolveState({ value: standing.phase, context });
    const parent = under === undefined ? {} : { parent: under.ref };
    this.ref = createActor(following(machine), { id, snapshot: this.#snapshot, ...parent });
    // Without an observer of errors XState throws them on a timer, where nobody can catch them.
    this.ref.subscribe({ error: ignore });
    if (inspect !== undefined) this.#add(inspect);
    if (under !== undefined) under.#below.add(this);
    for (const inspector of this.inspectors) tellOfActor(this.ref, inspector);
    this.ref.start();
    this.#leaveWhenOver();
  }

  /** Whether an inspector sees it, and with it the actors under it. */
  get inspected(): boolean {
    return this.#inspections.size > 0 || (this.#under?.inspected ?? false);
  }

  /** Who sees it, through an actor around it or by itself. */
  get inspectors(): ReadonlySet<Inspect> {
    const above = this.#under?.inspectors ?? [];
    return new Set([...above, ...[...this.#inspections].map(({ inspect }) => inspect)]);
  }

  /**
   * Shows the actor to an inspector, as it is now and from now on, and with it the actors under it.
   *
   * @returns A function that ends it.
   */
  inspect(inspect: Inspect): () => void {
    const inspection = this.#add(inspect);
    this.#tellWhereItIs(inspect);
    this.#leaveWhenOver();
    return () => this.#end(inspection);
  }

  /** What the run and the actor disagree on: then no call may be admitted any more. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /**
   * Takes a move of the run; tell it with {@link tell} once the run has made it.
   *
   * @param standing Where the move leads the run.
   * @returns The {@link fault}, now or earlier.
   */
  take(events: readonly PhaseEvent[], standing: Standing): string | undefined {
    const when = events.at(-1)?.type ?? '';
    if (this.#fault !== undefined) return this.#fault;
    try {
      // While it tells of earlier moves the actor is behind.
      if (!this.#telling && this.#untold.length === 0)
        this.#compare(this.ref.getSnapshot(), standingOf(this.#snapshot), `before ${when}`);
      let next = this.#snapshot;
      for (const event of events) [next] = transition(this.#machine, next, event);
      this.#compare(next, standing, `after ${when}`);
      if (this.#fault === undefined) {
        this.#snapshot = next;
        this.#untold.push(...events);
      }
    } catch (error) {
      this.#fault = `The run's XState actor failed at ${when}: ${messageOf(error)}`;
    }
    return this.#fault;
  }

  /** Puts the actor where the run is, after what its machine has no event for; tell it with {@link tell}. */
  follow(event: EventObject, standing: Standing, reason: string | null = null): void {
    if (this.#fault !== undefined) return;
    const there = { ...event, standing, reason };
    this.#snapshot = followed(this.#machine, this.#snapshot, there);
    this.#untold.push(there);
  }

  /** Sends the actor what it was not told of yet. */
  tell(): void {
    if (this.#telling) return;
    this.#telling = true;
    try {
      // Whoever observes the actor may move the run in turn, so there may come more.
      for (let event = this.#untold.shift(); event !== undefined; event = this.#untold.shift()) {
        this.ref.send(event as PhaseEvent);
      }
    } catch (error) {
      // An inspection callback that is given to the actor's system by itself and throws, throws out of `send`.
      this.#fault ??= `The run's XState actor failed: ${messageOf(error)}`;
    } finally {
      this.#telling = false;
    }
    this.#leaveWhenOver();
  }

  #tellWhereItIs(inspect: Inspect): void {
    tellOfActor(this.ref, inspect);
    tellOfSnapshot(this.ref, inspect);
    for (const one of this.#below) one.#tellWhereItIs(inspect);
  }

  #add(inspect: Inspect): Inspection {
    const under = this.#under;
    // Two enforcements may have one inspector: it sees a child run through its parent already.
    const seenAbove = () => under?.inspectors.has(inspect) ?? false;
    const inspection = { inspect, end: inspectActor(this.ref, inspect, seenAbove) };
    this.#inspections.add(inspection);
    return inspection;
  }

  #end(inspection: Inspection): void {
    inspection.end();
    this.#inspections.delete(inspection);
  }

  // The system that a child run shares with its parent lives on, and would keep it and its inspectors.
  #leaveWhenOver(): void {
    if (this.ref.getSnapshot().status === 'active') return;
    if (this.#under !== undefined) this.#under.#below.delete(this);
    for (const inspection of this.#inspections) this.#end(inspection);
  }

  #compare(snapshot: SnapshotFrom<PhaseMachine>, standing: Standing, when: string): void {
    const actual = standingOf(snapshot);
    const ok = snapshot.status === 'active' || snapshot.status === 'done';
    const same =
      ok &&
      actual.phase === standing.phase &&
      actual.stepCount === standing.stepCount &&
      actual.loopCount === standing.loopCount &&
      actual.inFlight === standing.inFlight;
    if (same) return;
    this.#fault =
      `The run and its XState actor disagree ${when}: the run is ${inWords(standing)}, ` +
      `the actor is ${ok ? '' : `${snapshot.status}, `}${inWords(actual)}`;
  }
}

interface Inspection {
  readonly inspect: Inspect;
  readonly end: () => void;
}

// What XState tells an actor of those under it when they end. It would take the failure of one for its own.
const FROM_BELOW = /^xstate\.(done|error)\.actor\./;

/** The machine, as logic that can also be put where a run is. */
function following(machine: PhaseMachine): PhaseMachine {
  const logic: Pick<PhaseMachine, 'transition'> = {
    transition(snapshot, event, scope) {
      if ('standing' in event) return followed(machine, snapshot, event as unknown as Followed);
      if (FROM_BELOW.test(event.type)) return snapshot;
      return machine.transition(snapshot, event, scope);
    },
  };
  return Object.assign(Object.create(machine) as PhaseMachine, logic);
}

function followed(
  machine: PhaseMachine,
  { context }: SnapshotFrom<PhaseMachine>,
  { standing, reason }: Followed,
): SnapshotFrom<PhaseMachine> {
  return machine.resolveState({ value: standing.phase, context: contextOf(context, standing, reason) });
}

function contextOf(
  rules: Pick<Rules, 'maxSteps' | 'maxLoopsPerPhase' | 'table'> | PhaseContext,
  standing: Standing,
  reason: string | null,
): PhaseContext {
  const { maxSteps, maxLoopsPerPhase } = rules;
  const phases = 'table' in rules ? rules.table.phases : Object.keys(rules.loopCount);
  const { phase, stepCount, loopCount, inFlight } = standing;
  return {
    maxSteps,
    maxLoopsPerPhase,
    stepCount,
    loopCount: Object.fromEntries(phases.map((name) => [name, name === phase ? loopCount : 0])),
    inFlight,
    reason,
  };
}

function standingOf({ value, context }: SnapshotFrom<PhaseMachine>): Standing {
  const phase = String(value);
  const { stepCount, inFlight } = context;
  return { phase, stepCount, loopCount: context.loopCount[phase] ?? 0, inFlight };
}

function inWords({ phase, stepCount, loopCount, inFlight }: Standing): string {
  return `in ${phase} with ${stepCount} steps, ${loopCount} loops and ${inFlight} calls in flight`;
}

function ignore(): void {}

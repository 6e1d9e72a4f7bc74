import { describe } from './describe.ts';
import { PhasegateError } from './errors.ts';
import {
  DEFAULT_PHASES,
  DEFAULT_TRANSITIONS,
  isTerminal,
  PHASE_NAME,
  type Phase,
  type Transition,
} from './phases.ts';

const NONE: readonly Phase[] = Object.freeze([]);

/**
 * The phases and the legal transitions between them. A table never changes: an edit makes another, so that a live
 * run keeps the one that it began with (SPEC §1.4).
 */
export class Table {
  /** All phases in the order of declaration: the seven, then the user's. */
  readonly phases: readonly Phase[];
  readonly #targets: ReadonlyMap<Phase, readonly Phase[]>;
  #transitions: readonly Transition[] | undefined;
  #paths: ReadonlyMap<Phase, readonly Phase[]> | undefined;

  private constructor(phases: readonly Phase[], targets: ReadonlyMap<Phase, readonly Phase[]>) {
    this.phases = Object.freeze(phases);
    this.#targets = targets;
  }

  /**
   * @param furtherPhases Phases besides the seven; one that is there already changes nothing.
   * @param transitions The legal transitions, all of them.
   * @throws {PhasegateError} `invalid-phase` or `invalid-transition`, naming the phase or the edge and why (SPEC §1.3).
   */
  static of(furtherPhases: readonly Phase[], transitions: readonly Transition[]): Table {
    for (const phase of furtherPhases) {
      if (typeof phase !== 'string' || !PHASE_NAME.test(phase)) {
        throw new PhasegateError(
          'invalid-phase',
          `A phase's name must match ${PHASE_NAME.source} (capitals, digits and _, as in REVIEWING), got ${describe(phase)}`,
        );
      }
    }
    const phases = [...new Set<Phase>([...DEFAULT_PHASES, ...furtherPhases])];
    const targets = new Map<Phase, Set<Phase>>(phases.map((phase) => [phase, new Set()]));
    for (const [from, to] of transitions) {
      checkEdge(targets, from, to);
      targets.get(from)?.add(to);
    }
    return new Table(phases, new Map([...targets].map(([from, to]) => [from, inOrder(phases, to)])));
  }

  /** The legal transitions, in the order in which their phases are declared. */
  get transitions(): readonly Transition[] {
    this.#transitions ??= Object.freeze(
      this.phases.flatMap((from) => this.targetsOf(from).map((to) => Object.freeze([from, to] as const))),
    );
    return this.#transitions;
  }

  has(phase: Phase): boolean {
    return this.#targets.has(phase);
  }

  isLegal(from: Phase, to: Phase): boolean {
    return this.targetsOf(from).includes(to);
  }

  /** Where a transition leads from this phase, in the order of declaration. */
  targetsOf(from: Phase): readonly Phase[] {
    return this.#targets.get(from) ?? NONE;
  }

  /**
   * The shortest legal path from a phase to ACTING, both ends included, or `undefined` when there is none. From ACTING
   * it is the self-loop. No path leads through a terminal phase; of several shortest ones, the one whose phases are
   * declared first (SPEC §4.1, §4.2).
   */
  pathToActing(from: Phase): readonly Phase[] | undefined {
    this.#paths ??= this.#shortestPaths();
    return this.#paths.get(from);
  }

  /** This table with one more edge; itself when the edge is there already. */
  with(from: Phase, to: Phase): Table {
    checkEdge(this.#targets, from, to);
    if (this.isLegal(from, to)) return this;
    const targets = inOrder(this.phases, new Set([...this.targetsOf(from), to]));
    return new Table(this.phases, new Map(this.#targets).set(from, targets));
  }

  /** This table with one edge less; itself when the edge is not there. */
  without(from: Phase, to: Phase): Table {
    checkEdge(this.#targets, from, to);
    if (!this.isLegal(from, to)) return this;
    const targets = this.targetsOf(from).filter((phase) => phase !== to);
    return new Table(this.phases, new Map(this.#targets).set(from, targets));
  }

  // Breadth-first from ACTING along reversed edges, then forward along the first phase that is one hop nearer.
  #shortestPaths(): ReadonlyMap<Phase, readonly Phase[]> {
    const sources = new Map<Phase, Phase[]>(this.phases.map((phase) => [phase, []]));
    for (const [from, to] of this.transitions) sources.get(to)?.push(from);
    const distance = new Map<Phase, number>([['ACTING', 0]]);
    for (const [phase, hops] of distance) {
      // A Map is iterated in the order of insertion, also over what is added meanwhile: it is the queue.
      for (const source of sources.get(phase) ?? NONE) {
        if (!distance.has(source)) distance.set(source, hops + 1);
      }
    }
    const paths = new Map<Phase, readonly Phase[]>();
    for (const [phase, hops] of distance) {
      const next = this.targetsOf(phase).find((target) => distance.get(target) === hops - 1);
      const rest = next === undefined ? undefined : paths.get(next);
      paths.set(phase, Object.freeze(rest === undefined ? [phase] : [phase, ...rest]));
    }
    return paths.set('ACTING', Object.freeze(['ACTING', 'ACTING']));
  }
}

/** The table that the rules draw (SPEC §1.2). */
export const DEFAULT_TABLE: Table = Table.of([], DEFAULT_TRANSITIONS);

function inOrder(phases: readonly Phase[], members: ReadonlySet<Phase>): readonly Phase[] {
  return Object.freeze(phases.filter((phase) => members.has(phase)));
}

function checkEdge(known: ReadonlyMap<Phase, unknown>, from: Phase, to: Phase): void {
  const edge = `${typeof from === 'string' ? from : describe(from)} -> ${typeof to === 'string' ? to : describe(to)}`;
  if (!known.has(from) || !known.has(to)) {
    const missing = known.has(from) ? to : from;
    throw new PhasegateError(
      'invalid-transition',
      `The transition ${edge} is impossible: there is no phase ${describe(missing)}. ` +
        `Declare it in \`phases\`, or use one of ${[...known.keys()].join(', ')}`,
    );
  }
  if (isTerminal(from)) {
    throw new PhasegateError(
      'invalid-transition',
      `The transition ${edge} is impossible: ${from} is terminal, and a run that has ended stays ended`,
    );
  }
}

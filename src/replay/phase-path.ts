import type { Phase } from '../phases.ts';

/** Phases that a run passed one after the other, and how many times in a row; without phases, how many segments are left out. */
export interface PathSegment {
  readonly phases: readonly Phase[];
  readonly times: number;
}

const HEAD = 3;
const TAIL = 6;

/** The phases that a run has passed, in a form that stays short however long the run is. */
export class PhasePath {
  readonly #head: Segment[] = [];
  readonly #tail: Segment[] = [];
  #omitted = 0;
  #latest: Segment | undefined;

  /** The run went along there. Where that begins is not said again when the path is there already. */
  add(phases: readonly Phase[]): void {
    const from = phases[0] === this.#latest?.phases.at(-1) ? 1 : 0;
    if (phases.length <= from) return;
    if (this.#latest !== undefined && goesOn(this.#latest.phases, phases, from)) {
      this.#latest.times += 1;
      return;
    }
    this.#latest = { phases: phases.slice(from), times: 1 };
    if (this.#head.length < HEAD) {
      this.#head.push(this.#latest);
    } else {
      this.#tail.push(this.#latest);
      if (this.#tail.length > TAIL) {
        this.#tail.shift();
        this.#omitted += 1;
      }
    }
  }

  get segments(): readonly PathSegment[] {
    const gap = this.#omitted === 0 ? [] : [{ phases: [], times: this.#omitted }];
    return [...this.#head, ...gap, ...this.#tail].map((segment) => ({ ...segment }));
  }
}

interface Segment {
  readonly phases: readonly Phase[];
  times: number;
}

/** Whether the phases, from there on, are these. */
function goesOn(hops: readonly Phase[], phases: readonly Phase[], from: number): boolean {
  return hops.length === phases.length - from && hops.every((phase, i) => phase === phases[from + i]);
}

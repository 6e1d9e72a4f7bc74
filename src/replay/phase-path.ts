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
  readonly #head: PathSegment[] = [];
  readonly #tail: PathSegment[] = [];
  #omitted = 0;
  #last: Phase | undefined;

  /** The run went along there. Where that begins is not said again when the path is there already. */
  add(phases: readonly Phase[]): void {
    const hops = phases[0] === this.#last ? phases.slice(1) : phases;
    if (hops.length === 0) return;
    this.#last = hops.at(-1);
    const segments = this.#tail.length > 0 ? this.#tail : this.#head;
    const previous = segments.at(-1);
    if (previous !== undefined && sameHops(previous.phases, hops)) {
      segments[segments.length - 1] = { phases: hops, times: previous.times + 1 };
    } else if (this.#head.length < HEAD) {
      this.#head.push({ phases: hops, times: 1 });
    } else {
      this.#tail.push({ phases: hops, times: 1 });
      if (this.#tail.length > TAIL) {
        this.#tail.shift();
        this.#omitted += 1;
      }
    }
  }

  get segments(): readonly PathSegment[] {
    const gap = this.#omitted === 0 ? [] : [{ phases: [], times: this.#omitted }];
    return [...this.#head, ...gap, ...this.#tail];
  }
}

function sameHops(a: readonly Phase[], b: readonly Phase[]): boolean {
  return a.length === b.length && a.every((phase, i) => phase === b[i]);
}

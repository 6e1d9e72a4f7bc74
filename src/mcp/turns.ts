import { innermostCallOf } from '../context.ts';
import type { Run } from '../run.ts';

/**
 * MCP tells nothing of the turns of a model. But calls between which no answer was given are of one turn: nobody can have
 * read in between what came of them.
 */
export class Turns {
  readonly #turns = new WeakMap<Run, object>();

  /** Makes a call, and tells it which turn it is of. */
  async call<T>(run: Run | null, call: (turn: object | undefined) => Promise<T>): Promise<T> {
    // Calls from the body of another are of that body, however many answers it reads.
    if (run === null || innermostCallOf(run) !== null) return await call(undefined);
    const turn = this.#turns.get(run) ?? {};
    this.#turns.set(run, turn);
    try {
      return await call(turn);
    } finally {
      this.#turns.delete(run);
    }
  }
}

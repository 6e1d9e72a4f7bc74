import type { Link } from './chain.ts';

/** What is wrong with where a record stands. */
export interface Misplaced {
  readonly kind: 'missing' | 'moved' | 'repeated' | 'replaced';
  readonly message: string;
}

/** Follows the records of a chain, and says of each whether it stands where it was written. */
export class Links {
  #last: Link | undefined;
  // Records that were passed over, as first and last: they may come later, out of order.
  readonly #missing: [number, number][] = [];

  /** The last record that is where it belongs. */
  get last(): Link | undefined {
    return this.#last;
  }

  /**
   * Takes the next record.
   *
   * @param opensLater Whether it is the header of a later file: then a log may begin with it, where older files are gone.
   */
  take(link: Link, opensLater: boolean): Misplaced | undefined {
    const last = this.#last;
    const expected = (last?.n ?? 0) + 1;
    if (link.n < expected) return this.#late(link, expected - 1);
    this.#last = link;
    if (last === undefined && opensLater) return undefined;
    if (link.n > expected) {
      this.#missing.push([expected, link.n - 1]);
      return { kind: 'missing', message: `${records(expected, link.n - 1)} missing before this line` };
    }
    if (link.prev === (last?.hash ?? null)) return undefined;
    return {
      kind: 'replaced',
      message: `record ${link.n} was written after another record than the one that stands before it`,
    };
  }

  #late(link: Link, last: number): Misplaced {
    const at = this.#missing.findIndex(([from, to]) => from <= link.n && link.n <= to);
    if (at === -1)
      return { kind: 'repeated', message: `record ${link.n} comes a second time, or was put in` };
    const [from, to] = this.#missing[at] as [number, number];
    const left: [number, number][] = [
      [from, link.n - 1],
      [link.n + 1, to],
    ];
    this.#missing.splice(at, 1, ...left.filter(([first, final]) => first <= final));
    return { kind: 'moved', message: `record ${link.n} stands after record ${last}` };
  }
}

function records(first: number, last: number): string {
  return first === last ? `record ${first} is` : `records ${first} to ${last} are`;
}

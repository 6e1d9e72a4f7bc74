/** Numbers that came up, and how often: as many as there are different ones, however many there are in all. */
export class Tally {
  readonly #counts = new Map<number, number>();
  #total = 0;

  add(value: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    this.#total += 1;
  }

  get total(): number {
    return this.#total;
  }

  /** What came up, from the least, each with how often it did. */
  get counts(): readonly (readonly [value: number, count: number])[] {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }

  /**
   * The least number that at least this part of all is not above; 0 when there is none at all.
   *
   * @param part 0 to 1: 0 for the least number, 0.5 for the median, 1 for the greatest.
   */
  quantile(part: number): number {
    let below = 0;
    for (const [value, count] of this.counts) {
      below += count;
      if (below >= part * this.#total) return value;
    }
    return 0;
  }

  /** How many are above the number. */
  above(limit: number): number {
    return this.counts.reduce((sum, [value, count]) => sum + (value > limit ? count : 0), 0);
  }
}

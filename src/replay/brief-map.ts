/**
 * A map of what mostly comes alone and soon goes, such as calls that are open. Its latest entry stands beside a `Map` that
 * holds the others: one that goes from empty to one entry and back makes its table anew each time.
 */
export class BriefMap<Key, Value extends {}> {
  #key: Key | undefined;
  #value: Value | undefined;
  readonly #others = new Map<Key, Value>();

  get size(): number {
    return this.#others.size + (this.#value === undefined ? 0 : 1);
  }

  get(key: Key): Value | undefined {
    return this.#value !== undefined && key === this.#key ? this.#value : this.#others.get(key);
  }

  /** Adds an entry, of a key that is not there. */
  add(key: Key, value: Value): void {
    if (this.#value !== undefined) this.#others.set(this.#key as Key, this.#value);
    this.#key = key;
    this.#value = value;
  }

  delete(key: Key): void {
    if (this.#value !== undefined && key === this.#key) this.#value = undefined;
    else this.#others.delete(key);
  }

  clear(): void {
    this.#value = undefined;
    this.#others.clear();
  }

  /** What is there, in the order in which it was added. */
  *values(): Generator<Value> {
    yield* this.#others.values();
    if (this.#value !== undefined) yield this.#value;
  }
}

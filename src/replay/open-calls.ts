/**
 * The calls of a run that have not ended, as a recording names them: by ids that may be used again, even by two open
 * calls, or may be absent. Each gets a key of its own; of several that a name fits, the oldest is meant.
 */
export class OpenCalls {
  readonly #calls = new Map<string, { readonly id: string | undefined; readonly tool: string }>();
  readonly #keysById = new Map<string, string[]>();
  #count = 0;

  /** A call began, with that id or without one. */
  add(id: string | undefined, tool: string): string {
    this.#count += 1;
    const key = String(this.#count);
    this.#calls.set(key, { id, tool });
    if (id !== undefined) {
      const keys = this.#keysById.get(id);
      if (keys === undefined) this.#keysById.set(id, [key]);
      else keys.push(key);
    }
    return key;
  }

  /** The newest open call, of that id if one is given: the one from whose body a nested call or a sub-agent comes. */
  newest(id: string | undefined): string | undefined {
    return id === undefined ? [...this.#calls.keys()].at(-1) : this.#keysById.get(id)?.at(-1);
  }

  /**
   * A call ended: the one of that id. Where the start or the end has no id, the tool decides, if the end names it.
   *
   * @returns The key of the call; `undefined` when it cannot be any that is open.
   */
  take(id: string | undefined, tool: string | undefined): string | undefined {
    const key = id === undefined ? undefined : this.#keysById.get(id)?.[0];
    const meant = key ?? this.#oldestWithoutId(tool) ?? (id === undefined ? this.#oldest(tool) : undefined);
    if (meant !== undefined) this.#forget(meant);
    return meant;
  }

  /** That call ended. */
  remove(key: string): void {
    this.#forget(key);
  }

  /** All calls end. Oldest first. */
  takeAll(): string[] {
    const keys = [...this.#calls.keys()];
    this.#calls.clear();
    this.#keysById.clear();
    return keys;
  }

  #oldestWithoutId(tool: string | undefined): string | undefined {
    for (const [key, call] of this.#calls) {
      if (call.id === undefined && (tool === undefined || call.tool === tool)) return key;
    }
    return undefined;
  }

  #oldest(tool: string | undefined): string | undefined {
    for (const [key, call] of this.#calls) if (tool === undefined || call.tool === tool) return key;
    return undefined;
  }

  #forget(key: string): void {
    const id = this.#calls.get(key)?.id;
    this.#calls.delete(key);
    if (id === undefined) return;
    const keys = this.#keysById.get(id) ?? [];
    if (keys.length <= 1) this.#keysById.delete(id);
    else keys.splice(keys.indexOf(key), 1);
  }
}

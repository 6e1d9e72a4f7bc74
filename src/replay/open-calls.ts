import { BriefMap } from './brief-map.ts';

/**
 * The calls of a run that have not ended, as a recording names them: by ids that may be used again, even by two open
 * calls, or may be absent. Each gets a key of its own; of several that a name fits, the oldest is meant.
 */
export class OpenCalls {
  readonly #calls = new BriefMap<string, OpenCall>();
  readonly #byId = new BriefMap<string, OpenCall[]>();
  #count = 0;

  /** A call began, with that id or without one; or goes on, by its key. */
  add(id: string | undefined, tool: string, key?: string): string {
    if (key === undefined) this.#count += 1;
    const call = { key: key ?? String(this.#count), id, tool };
    this.#calls.add(call.key, call);
    if (id !== undefined) {
      const alike = this.#byId.get(id);
      if (alike === undefined) this.#byId.add(id, [call]);
      else alike.push(call);
    }
    return call.key;
  }

  /** The newest open call, of that id if one is given: the one from whose body a nested call or a sub-agent comes. */
  newest(id: string | undefined): string | undefined {
    const calls = id === undefined ? [...this.#calls.values()] : this.#byId.get(id);
    return calls?.at(-1)?.key;
  }

  /**
   * A call ended: the one of that id. Where the start or the end has no id, the tool decides, if the end names it.
   *
   * @returns The key of the call; `undefined` when it cannot be any that is open.
   */
  take(id: string | undefined, tool: string | undefined): string | undefined {
    const named = id === undefined ? undefined : this.#byId.get(id)?.[0];
    const meant = named ?? this.#oldestWithoutId(tool) ?? (id === undefined ? this.#oldest(tool) : undefined);
    if (meant !== undefined) this.#forget(meant);
    return meant?.key;
  }

  /** That call ended. */
  remove(key: string): void {
    const call = this.#calls.get(key);
    if (call !== undefined) this.#forget(call);
  }

  /** All calls end. Oldest first. */
  takeAll(): string[] {
    const keys = Array.from(this.#calls.values(), ({ key }) => key);
    this.#calls.clear();
    this.#byId.clear();
    return keys;
  }

  #oldestWithoutId(tool: string | undefined): OpenCall | undefined {
    for (const call of this.#calls.values()) {
      if (call.id === undefined && (tool === undefined || call.tool === tool)) return call;
    }
    return undefined;
  }

  #oldest(tool: string | undefined): OpenCall | undefined {
    for (const call of this.#calls.values()) if (tool === undefined || call.tool === tool) return call;
    return undefined;
  }

  #forget(call: OpenCall): void {
    this.#calls.delete(call.key);
    if (call.id === undefined) return;
    const alike = this.#byId.get(call.id) ?? [];
    if (alike.length <= 1) this.#byId.delete(call.id);
    else alike.splice(alike.indexOf(call), 1);
  }
}

interface OpenCall {
  readonly key: string;
  readonly id: string | undefined;
  readonly tool: string;
}

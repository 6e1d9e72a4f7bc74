/** What does the work of a tool. */
export type Handler = (...params: unknown[]) => unknown;

/** What a server hands back for a tool that is registered, and by which the tool is changed. */
export type Handle = Record<string, unknown> & { update?: (updates: Updates) => void };

interface Updates {
  readonly name?: string | null | undefined;
  readonly callback?: unknown;
}

// What servers call, in all versions, and what code may assign to.
const HANDLERS = ['handler', 'callback', 'executor'];

/**
 * Sees to it that a tool stays under enforcement, whatever is done with its handle.
 *
 * @param guard Puts a handler under enforcement, if it is not.
 * @param renamed Is told the new name of the tool.
 */
export function superviseHandle(
  handle: Handle,
  guard: (handler: unknown) => unknown,
  renamed: (name: string) => void,
): Handle {
  let updating = false;
  for (const key of HANDLERS.filter((name) => Object.hasOwn(handle, name))) {
    let current = handle[key];
    Object.defineProperty(handle, key, {
      enumerable: true,
      get: () => current,
      set: (value: unknown) => {
        // What an update sets is made of a handler that is guarded.
        current = updating ? value : guard(value);
      },
    });
  }
  const { update } = handle;
  handle.update = (updates) => {
    const { name, callback } = updates;
    updating = true;
    try {
      update?.call(handle, callback === undefined ? updates : { ...updates, callback: guard(callback) });
    } finally {
      updating = false;
    }
    if (typeof name === 'string') renamed(name);
  };
  return handle;
}

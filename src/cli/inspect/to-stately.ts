import type { PhasegateEvent } from '../../events.ts';
import { mirrorToStately } from '../../inspect/stately.ts';
import type { StoredRun } from '../../inspect/store.ts';
import type { TidyEvent } from '../../inspect/tidy-event.ts';

/** Shows runs in one of Stately's tools as well. */
export interface ToStately {
  take(run: StoredRun, event: TidyEvent): void;
  close(): Promise<void>;
}

/**
 * Connects to one of Stately's tools.
 *
 * @param url Where it listens; `true` for where it does by default.
 * @throws {PhasegateError} (rejects) as `mirrorToStately`.
 */
export async function toStately(url: string | true): Promise<ToStately> {
  const mirror = await mirrorToStately(url === true ? {} : { url });
  return {
    take(run, event) {
      try {
        mirror.take(named(run, event) as unknown as PhasegateEvent);
      } catch {
        // What comes over the wire may be no event that the mirror knows: that is no reason not to show it on the page.
      }
    },
    close: () => mirror.close(),
  };
}

// Two processes may use the same ids.
function named(run: StoredRun, event: TidyEvent): object {
  const parent = event.type === 'run.started' ? { parent: run.parent && nameOf(run.parent) } : {};
  return { ...event, ...parent, run: run.id === null ? null : nameOf(run) };
}

function nameOf({ id, source }: StoredRun): string {
  return `${id} of ${source.name}`;
}

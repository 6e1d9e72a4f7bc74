import { createStorage } from '../context.ts';
import type { RemoteCall, RemoteRun } from './remote-run.ts';

/** What code runs inside of: a run, or the body of one of its calls. */
interface Frame {
  readonly run: RemoteRun;
  readonly call: RemoteCall | null;
  readonly outer?: Frame | undefined;
}

/** Which run and which call of an enforcement the present code is inside of, where the platform can tell. */
export class Frames {
  readonly #storage = createStorage<Frame>();

  run<T>(frame: Frame, fn: () => T): T {
    if (this.#storage === undefined) return fn();
    // Past what has ended, or work that goes on from call to call would hold on to all of them.
    let outer = this.#storage.getStore();
    while (outer?.outer !== undefined && !isLive(outer)) outer = outer.outer;
    return this.#storage.run({ ...frame, outer }, fn);
  }

  innermostRun(): RemoteRun | null {
    return this.#storage?.getStore()?.run ?? null;
  }

  innermostCall(): RemoteCall | null {
    return this.#find(() => true);
  }

  innermostCallOf(run: RemoteRun): RemoteCall | null {
    return this.#find((call) => call.run === run);
  }

  #find(isMeant: (call: RemoteCall) => boolean): RemoteCall | null {
    for (let frame = this.#storage?.getStore(); frame !== undefined; frame = frame.outer) {
      if (frame.call !== null && isMeant(frame.call)) return frame.call;
    }
    return null;
  }
}

function isLive({ run, call }: Frame): boolean {
  return call === null ? !run.ended : call.live;
}

import { createEnforcement, createSupervisor, type Enforcement, type Run } from 'phasegate';
import { generatePaths, type PathAdapter, testPaths } from 'phasegate/paths';
import { describe, expect, it } from 'vitest';
import type { CallTool, Harness } from './harness.ts';
import { gate } from './world.ts';

/**
 * Code that a path goes through: the run's own, or the body of a call in flight. It makes the calls that it is told to, from
 * inside, until it is told to end.
 */
class Place {
  readonly #orders: ((call: CallTool) => void)[] = [];
  #wake: (() => void) | undefined;
  #end: (() => unknown) | undefined;

  /** What the code does. */
  async live(call: CallTool): Promise<unknown> {
    for (;;) {
      for (const order of this.#orders.splice(0)) order(call);
      if (this.#end !== undefined) return this.#end();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  order(order: (call: CallTool) => void): void {
    this.#orders.push(order);
    this.#wake?.();
  }

  end(how: () => unknown): void {
    this.#end = how;
    this.#wake?.();
  }
}

interface Driven {
  readonly run: Run;
  readonly root: Place;
  readonly over: Promise<void>;
  /** The calls in flight, the latest last. */
  readonly calls: { readonly place: Place; readonly done: Promise<unknown> }[];
  /** Told of each place that comes into being: a body has started. */
  started: ((place: Place) => void) | undefined;
}

/** Drives paths through an adapter: every call is made the way that the framework makes it. */
function adapterOf(harness: Harness, enforcement: Enforcement): PathAdapter<Driven> {
  let refusedFor: string | undefined;
  enforcement.on((event) => {
    if (event.type === 'call.refused') refusedFor = event.code;
  });
  return {
    async begin() {
      const begun = gate<Run>();
      const root = new Place();
      let driven: Driven | undefined;
      const tool = async (_args: unknown, { call }: { call: CallTool }) => {
        const place = new Place();
        driven?.started?.(place);
        return await place.live(call);
      };
      const over = harness.inRun(
        { enforcement, options: { maxBlocked: Number.POSITIVE_INFINITY }, bodies: { tool } },
        async (run, call) => {
          begun.open(run);
          await root.live(call);
        },
      );
      driven = { run: await begun.passed, root, over, calls: [], started: undefined };
      return driven;
    },
    async perform(driven, event) {
      if (event.startsWith('propose.')) {
        const decision = driven.run.propose(event.slice('propose.'.length));
        return decision.allowed ? { allowed: true } : { allowed: false, code: decision.code };
      }
      if (event === 'call.start' || event === 'call.join') {
        const from = (event === 'call.start' && driven.calls.at(-1)?.place) || driven.root;
        return (await startCall(driven, from)) ? { allowed: true } : { allowed: false, code: refusedFor };
      }
      const call = driven.calls.pop();
      if (call === undefined) return { allowed: false };
      call.place.end(() => {
        if (event === 'call.succeed') return 'done';
        throw new Error('failed');
      });
      await call.done;
      return { allowed: true };
    },
    state: ({ run: { state } }) => ({
      phase: state.phase,
      stepCount: state.stepCount,
      loopCount: state.loopCount[state.phase] ?? 0,
      inFlight: state.inFlight,
    }),
    async end({ root, calls, over }) {
      for (const { place } of calls.reverse()) place.end(() => 'done');
      root.end(() => undefined);
      await over;
    },
  };
}

/** @returns Whether the body of the call has started. */
async function startCall(driven: Driven, from: Place): Promise<boolean> {
  const answered = gate<Place | undefined>();
  driven.started = answered.open;
  let done: Promise<unknown> = answered.passed;
  from.order((call) => {
    done = call('tool').then(
      () => answered.open(undefined),
      () => answered.open(undefined),
    );
  });
  const place = await answered.passed;
  if (place !== undefined) driven.calls.push({ place, done });
  return place !== undefined;
}

/** Every path through the phase machine, driven through an adapter. */
export function describePaths(harness: Harness): void {
  describe(`${harness.name}: the generated paths`, () => {
    it.each(['serialize', 'concurrent'] as const)('come out as the machine says (%s)', async (parallel) => {
      const supervisor = createSupervisor({ maxSteps: 3, maxLoopsPerPhase: 1 });
      const enforcement = createEnforcement({ supervisor, parallel });
      const adapter = adapterOf(harness, enforcement);
      const { paths } = generatePaths(supervisor, { cover: 'guards', parallel });
      expect(paths.length).toBeGreaterThan(0);
      expect(await testPaths(paths, adapter)).toBeGreaterThan(paths.length);
    });
  });
}

import fc from 'fast-check';
import type { TraceEvent } from '../../src/replay/index.ts';

/** What was generated of an outermost run. */
export interface GeneratedRun {
  calls: number;
  failed: number;
  depth: number;
}

interface LiveRun {
  readonly key: string;
  readonly root: GeneratedRun;
  readonly parent: LiveRun | undefined;
  readonly depth: number;
  readonly open: string[];
}

/** Events that make sense, of a few runs with sub-agents, nested calls and calls that overlap; and the plain counts of each. */
export const randomEvents: fc.Arbitrary<{ events: TraceEvent[]; runs: GeneratedRun[] }> = fc
  .array(
    fc.tuple(fc.integer({ min: 0, max: 11 }), fc.nat(), fc.nat(), fc.constantFrom(true, true, false, null)),
    {
      maxLength: 60,
    },
  )
  .map((moves) => {
    const events: TraceEvent[] = [];
    const runs: GeneratedRun[] = [];
    let live: LiveRun[] = [];
    let names = 0;
    for (const [move, a, b, ok] of moves) {
      const run = live[a % Math.max(1, live.length)];
      names += 1;
      if (run === undefined || (move === 0 && live.length < 4)) {
        const root = { calls: 0, failed: 0, depth: 0 };
        runs.push(root);
        live.push({ key: `r${names}`, root, parent: undefined, depth: 0, open: [] });
        events.push({ type: 'run.started', run: `r${names}` });
      } else if (move <= 4) {
        const parent = move === 1 ? run.open[b % Math.max(1, run.open.length)] : undefined;
        // Ids of calls that have ended are used again.
        const call = `c${['x', 'y', 'z'].find((id) => !run.open.includes(`c${id}`)) ?? names}`;
        run.open.push(call);
        run.root.calls += 1;
        events.push({ type: 'call.started', run: run.key, call, callId: 'same', tool: 't', parent });
      } else if (move <= 9) {
        const [call] = run.open.splice(b % Math.max(1, run.open.length), 1);
        if (call === undefined) continue;
        if (ok === false) run.root.failed += 1;
        events.push({ type: 'call.ended', run: run.key, call, ok });
      } else if (move === 10 && run.depth < 5) {
        const call = run.open[b % Math.max(1, run.open.length)];
        if (call === undefined) continue;
        const child = { key: `r${names}`, root: run.root, parent: run, depth: run.depth + 1, open: [] };
        run.root.depth = Math.max(run.root.depth, child.depth);
        live.push(child);
        events.push({ type: 'run.started', run: child.key, parent: { run: run.key, call } });
      } else if (move === 11) {
        events.push({ type: 'run.ended', run: run.key });
        live = live.filter((other) => !isInside(other, run));
      }
    }
    return { events, runs };
  });

function isInside(run: LiveRun | undefined, other: LiveRun): boolean {
  return run !== undefined && (run === other || isInside(run.parent, other));
}

/** Calls of one run, none beside another: each ends before the next, but for those that it makes itself. */
export const randomCalls: fc.Arbitrary<TraceEvent[]> = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 3 }), fc.boolean()), { maxLength: 60 })
  .map((moves) => {
    const events: TraceEvent[] = [];
    const open: string[] = [];
    let names = 0;
    for (const [move, ok] of moves) {
      const inner = open.at(-1);
      if (inner === undefined || (move === 0 && open.length < 4)) {
        names += 1;
        const call = `c${names}`;
        events.push({ type: 'call.started', run: 'r', call, tool: 't', parent: inner });
        open.push(call);
      } else {
        events.push({ type: 'call.ended', run: 'r', call: inner, ok });
        open.pop();
      }
    }
    for (let inner = open.pop(); inner !== undefined; inner = open.pop()) {
      events.push({ type: 'call.ended', run: 'r', call: inner, ok: true });
    }
    return events;
  });

import { SupervisedCall } from '../call.ts';
import type { Enforcement } from '../enforcement.ts';
import type { SavedRun, SaveOptions } from '../saved-run.ts';
import type { SupervisedRun } from '../supervised-run.ts';
import type { CallName, Requests } from './protocol.ts';
import { type Branch, type Settled, Tree, type TreeLimits, type WaitingCall } from './tree.ts';

/** A tree as plain JSON: what the object keeps. */
export interface SavedTree {
  /** Outer runs before those inside of them. */
  readonly runs: readonly (Omit<Branch, 'run'> & { readonly saved: SavedRun })[];
  /** The calls in flight: their keys, and their numbers in their runs. */
  readonly open: readonly (CallName & { readonly seq: number; readonly leaseUntil: number | null })[];
  readonly waiting: readonly {
    readonly asked: Requests['beforeCall'];
    readonly until: number | null;
    readonly awakeables: readonly string[];
  }[];
  readonly settled: readonly (readonly [string, Settled])[];
  readonly touched: number;
  readonly endedAt: number | null;
  readonly tendAt: number | null;
}

/**
 * The tree that was saved, as it goes on; an empty one where nothing was.
 *
 * @throws {SavedRunError} when a run was saved under other rules, or is not as it was saved.
 */
export function loadTree(
  enforcement: Enforcement,
  limits: TreeLimits,
  now: number,
  saved: SavedTree | null,
  sealing: SaveOptions,
): Tree {
  const branches = new Map<string, Branch>();
  for (const { saved: run, ...rest } of saved?.runs ?? []) {
    const parent = run.parent === null ? null : callOf(branches, run.parent.run, run.parent.call);
    branches.set(run.id, {
      ...rest,
      run: enforcement.resumeRun(run, { ...sealing, inFlight: 'keep', parent }),
    });
  }
  const open = (saved?.open ?? []).map(({ run, call, seq, leaseUntil }) => {
    const branch = branches.get(run) as Branch;
    return [call, { branch, call: callOf(branches, run, seq), leaseUntil }] as const;
  });
  const waiting = (saved?.waiting ?? []).map(({ asked, until, awakeables }): [string, WaitingCall] => [
    asked.call,
    { asked, until, awakeables: [...awakeables] },
  ]);
  return new Tree(enforcement, limits, now, {
    branches,
    open: new Map(open),
    waiting: new Map(waiting),
    settled: new Map(saved?.settled),
    touched: saved?.touched ?? now,
    endedAt: saved?.endedAt ?? null,
    tendAt: saved?.tendAt ?? null,
  });
}

/** What the object is to keep of a tree. */
export function saveTree({ parts }: Tree, sealing: SaveOptions): SavedTree {
  const { branches, open, waiting, settled, touched, endedAt, tendAt } = parts;
  return {
    runs: [...branches.values()].map(({ run, ...rest }) => ({ ...rest, saved: run.save(sealing) })),
    open: [...open].map(([key, { branch, call, leaseUntil }]) => ({
      run: branch.run.id,
      call: key,
      seq: call.seq,
      leaseUntil,
    })),
    waiting: [...waiting.values()],
    settled: [...settled],
    touched,
    endedAt,
    tendAt,
  };
}

/** A call by its number; a child run may outlive the one that it was begun in, and then something has to stand for that. */
function callOf(branches: ReadonlyMap<string, Branch>, run: string, seq: number): SupervisedCall {
  const owner = branches.get(run)?.run as SupervisedRun;
  const call = owner.callsInFlight.find((one) => one.seq === seq);
  if (call !== undefined) return call;
  const ended = new SupervisedCall(owner, 'ended', undefined, seq, undefined, null);
  ended.status = 'ended';
  return ended;
}

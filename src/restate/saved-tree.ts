import { SupervisedCall } from '../call.ts';
import { canonicalJson } from '../canonical-json.ts';
import { describe } from '../describe.ts';
import type { Enforcement } from '../enforcement.ts';
import { PhasegateError } from '../errors.ts';
import { equalInConstantTime, hmacSha256Hex, type Key } from '../hash.ts';
import type { SavedRun } from '../saved-run.ts';
import type { SupervisedRun } from '../supervised-run.ts';
import type { CallName, Requests } from './protocol.ts';
import type { Branch, OpenCall, Settled, TreeParts, WaitingCall } from './tree.ts';

const VERSION = 1;

/** A tree as plain JSON: what the object keeps. */
export interface SavedTree {
  readonly version: typeof VERSION;
  /** Outer runs before those inside of them. */
  readonly runs: readonly (Omit<Branch, 'run'> & { readonly saved: SavedRun })[];
  /** The calls in flight: their keys, and their numbers in their runs. */
  readonly open: readonly (CallName & Omit<OpenCall, 'branch' | 'call'> & { readonly seq: number })[];
  readonly waiting: readonly {
    readonly asked: Requests['beforeCall'];
    readonly until: number | null;
    readonly awakeables: readonly string[];
  }[];
  readonly settled: readonly (readonly [string, Settled])[];
  readonly touched: number;
  readonly endedAt: number | null;
  readonly tendAt: number | null;
  /** The HMAC-SHA-256 of all else, as canonical JSON; absent without a key. */
  readonly signature?: string;
}

/** What becomes a tree where nothing is kept. */
export function newParts(now: number): TreeParts {
  return {
    branches: new Map(),
    open: new Map(),
    waiting: new Map(),
    settled: new Map(),
    touched: now,
    endedAt: null,
    tendAt: null,
  };
}

/**
 * Takes back what was kept.
 *
 * @throws {PhasegateError} `saved-tree-refused` when it is of another version, or not signed with the key.
 * @throws {SavedRunError} when a run was begun under other rules, or is not as it was saved.
 */
export function loadTree(enforcement: Enforcement, tree: SavedTree, key: Key | undefined): TreeParts {
  checkTree(tree, key);
  const branches = new Map<string, Branch>();
  for (const { saved, ...rest } of tree.runs) {
    const parent = saved.parent === null ? null : callOf(branches, saved.parent.run, saved.parent.call);
    branches.set(saved.id, { ...rest, run: enforcement.resumeRun(saved, { inFlight: 'keep', parent }) });
  }
  const open = tree.open.map(({ run, call, seq, ...rest }): [string, OpenCall] => [
    call,
    { ...rest, branch: branches.get(run) as Branch, call: callOf(branches, run, seq) },
  ]);
  const waiting = tree.waiting.map(({ asked, until, awakeables }): [string, WaitingCall] => [
    asked.call,
    { asked, until, awakeables: [...awakeables] },
  ]);
  const { touched, endedAt, tendAt } = tree;
  const settled = new Map(tree.settled);
  return { branches, open: new Map(open), waiting: new Map(waiting), settled, touched, endedAt, tendAt };
}

/** What the object is to keep of a tree. */
export function saveTree(parts: TreeParts, key: Key | undefined): SavedTree {
  const { branches, open, waiting, settled, touched, endedAt, tendAt } = parts;
  const tree: SavedTree = {
    version: VERSION,
    runs: [...branches.values()].map(({ run, ...rest }) => ({ ...rest, saved: run.save() })),
    open: [...open].map(([key, { branch, call, ...rest }]) => {
      return { ...rest, run: branch.run.id, call: key, seq: call.seq };
    }),
    waiting: [...waiting.values()],
    settled: [...settled],
    touched,
    endedAt,
    tendAt,
  };
  return key === undefined ? tree : { ...tree, signature: signatureOf(tree, key) };
}

function checkTree({ signature, ...tree }: SavedTree, key: Key | undefined): void {
  if (tree.version !== VERSION) {
    refuse(`its version is ${describe(tree.version)}, and this service reads ${VERSION}`);
  }
  if (key === undefined ? signature === undefined : isSigned(tree, signature, key)) return;
  refuse(key === undefined ? 'it is signed, and this service has no key' : 'it is not signed with this key');
}

function isSigned(tree: object, signature: string | undefined, key: Key): boolean {
  return typeof signature === 'string' && equalInConstantTime(signature, signatureOf(tree, key));
}

function signatureOf(tree: object, key: Key): string {
  // As Restate will hand it out: what is undefined is not there, and arguments may have a `toJSON`.
  return hmacSha256Hex(key, canonicalJson(JSON.parse(JSON.stringify(tree))));
}

function refuse(why: string): never {
  throw new PhasegateError('saved-tree-refused', `What is kept of this run cannot be used: ${why}`);
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

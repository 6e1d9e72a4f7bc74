import type { Enforcement } from '../enforcement.ts';
import { invalidArgument } from '../errors.ts';
import { checkKey, type Key } from '../hash.ts';
import { checkOptions } from '../options.ts';
import { checkTimeout } from '../run-options.ts';
import { answerToError } from './answers.ts';
import { ensurePromiseWithResolvers } from './promise-with-resolvers.ts';
import type { Answer, Change, Requests } from './protocol.ts';
import type { HandlerOptions, ObjectContext, RestateSdk, SendOptions, UsedSdk } from './restate-sdk.ts';
import { loadTree, newParts, type SavedTree, saveTree } from './saved-tree.ts';
import { Tree } from './tree.ts';

/** How the object is made that holds runs. */
export interface PhasegateObjectOptions {
  /** What its runs are held to, with the checks and the listeners; these run in the service. */
  readonly enforcement: Enforcement;
  /**
   * The name that agents find it by. Runs end under the rules that they began with, so other rules are served under another name.
   * @default 'phasegate'
   */
  readonly name?: string | undefined;
  /**
   * Milliseconds without a sign of life after which the machine of a call in flight is taken for dead, and the call charged as
   * a step: it may have done its work (SPEC §11.2). 1000 to 2147483647, or `Infinity`.
   * @default 60000
   */
  readonly leaseMs?: number | undefined;
  /**
   * Milliseconds after which an outermost run is aborted of which nothing was asked; 1 to 2147483647, or `Infinity`.
   * @default 86400000 (a day)
   */
  readonly idleMs?: number | undefined;
  /**
   * Milliseconds for which a run is kept after its end: until then its id cannot be begun once more. 1 to 2147483647, or
   * `Infinity`.
   * @default 86400000 (a day)
   */
  readonly retentionMs?: number | undefined;
  /** Signs what Restate keeps, so that whoever can write there cannot raise a budget: a secret of 16 bytes or more (SPEC §11). */
  readonly key?: Key;
}

const DAY_MS = 86_400_000;
/** How long Restate answers a repeated request by itself; clients repeat one for less. */
const REPEATED_FOR_MS = 600_000;
const STATE = 'tree';

/** What is done to a tree; with `false` it is to be forgotten. */
type Act = (tree: Tree) => Promise<Answer | boolean>;

/** What came of it. */
interface Outcome {
  readonly answer: Answer | boolean;
  /** What is kept from now on; `null`: nothing. */
  readonly keep: SavedTree | null;
  readonly wakes: readonly (readonly [awakeable: string, answer: Answer])[];
  readonly tendIn: number | null;
}

/**
 * Makes the virtual object that holds runs for agents on many machines; serve it like any other of Restate's. Each object holds
 * an outermost run with all runs inside of it, and its key is the id of that run.
 *
 * @param restate The SDK, as `import * as restate from '@restatedev/restate-sdk'` gives it.
 * @throws {PhasegateError} `invalid-argument`.
 * @example
 * const runs = phasegateObject(restate, { enforcement: createEnforcement({ supervisor }) });
 * await restate.serve({ services: [runs], port: 9080 });
 */
export function phasegateObject<Sdk extends RestateSdk>(
  restate: Sdk,
  options: PhasegateObjectOptions,
): ReturnType<Sdk['object']> {
  checkOptions('a phasegate object', options, OPTIONS);
  const {
    enforcement,
    name = 'phasegate',
    leaseMs = 60_000,
    idleMs = DAY_MS,
    retentionMs = DAY_MS,
  } = options;
  if (typeof restate?.object !== 'function') {
    throw invalidArgument('restate', "the SDK: import * as restate from '@restatedev/restate-sdk'", restate);
  }
  if (typeof enforcement?.resumeRun !== 'function') {
    throw invalidArgument('enforcement', 'what createEnforcement returns', enforcement);
  }
  if (typeof name !== 'string' || name === '') throw invalidArgument('name', 'a name', name);
  checkTimeout('leaseMs', leaseMs);
  if (leaseMs < 1000) throw invalidArgument('leaseMs', '1000 or more', leaseMs);
  checkTimeout('idleMs', idleMs);
  checkTimeout('retentionMs', retentionMs);
  // A key that is undefined is one that someone forgot to set.
  if (Object.hasOwn(options, 'key')) checkKey(options.key);
  const { key } = options;
  ensurePromiseWithResolvers();

  const { object, handlers, rpc } = restate as unknown as UsedSdk;
  const limits = { leaseMs, idleMs, retentionMs };
  const load = (kept: SavedTree | null, now: number) =>
    new Tree(enforcement, limits, now, kept === null ? newParts(now) : loadTree(enforcement, kept, key));

  async function outcomeOf(kept: SavedTree | null, act: Act): Promise<Outcome> {
    try {
      const tree = load(kept, Date.now());
      const answer = await act(tree);
      const tendIn = tree.schedule();
      const keep = answer === false || tree.parts.branches.size === 0 ? null : saveTree(tree.parts, key);
      return { answer, keep, wakes: [...tree.wakes], tendIn };
    } catch (error) {
      return { answer: answerToError(error), keep: kept, wakes: [], tendIn: null };
    }
  }

  // What is decided is written down before anything comes of it. Whoever takes over from a process that died goes on from
  // there, and does not decide once more: by then time has passed, and checks may say something else.
  async function decide(ctx: ObjectContext, act: Act): Promise<Answer | boolean> {
    const kept = await ctx.get<SavedTree>(STATE);
    const { answer, keep, wakes, tendIn } = await ctx.run('decide', () => outcomeOf(kept, act));
    if (keep === null) ctx.clearAll();
    else ctx.set(STATE, keep);
    for (const [awakeable, woken] of wakes) ctx.resolveAwakeable(awakeable, woken);
    if (keep !== null && tendIn !== null) {
      const delayed = rpc.sendOpts({ delay: tendIn });
      ctx.objectSendClient<Itself>({ name }, ctx.key).tend(keep.tendAt, delayed);
    }
    return answer;
  }

  function change<Name extends Change>(asked: Name, options: HandlerOptions = {}) {
    return handlers.object.exclusive(options, (ctx, request: Requests[Name]) =>
      decide(ctx, (tree) => tree.change(asked, request)),
    );
  }

  return object({
    name,
    handlers: {
      begin: change('begin'),
      beforeCall: change('beforeCall'),
      afterCall: change('afterCall'),
      failCall: change('failCall'),
      renewCall: change('renewCall'),
      propose: change('propose'),
      finish: change('finish'),
      abort: change('abort'),
      lineUp: change('lineUp', { ingressPrivate: true }),

      state: handlers.object.shared({}, async (ctx, request: Requests['state']) => {
        const kept = await ctx.get<SavedTree>(STATE);
        try {
          return load(kept, 0).state(request);
        } catch (error) {
          return answerToError(error);
        }
      }),

      // Not exclusive: while one waits, the calls before it end.
      awaitTurn: handlers.object.shared({}, async (ctx, request: Requests['awaitTurn']) => {
        const { id: awakeable, promise } = ctx.awakeable<Answer>();
        const answer = await ctx.objectClient<Itself>({ name }, ctx.key).lineUp({ ...request, awakeable });
        return answer.is === 'waiting' ? promise : answer;
      }),

      tend: handlers.object.exclusive({ ingressPrivate: true }, async (ctx, at: number) => {
        // Something else became due earlier meanwhile, and the object was called for that.
        if ((await ctx.get<SavedTree>(STATE))?.tendAt === at) await decide(ctx, (tree) => tree.tend());
      }),
    },
    options: { idempotencyRetention: REPEATED_FOR_MS, journalRetention: 0 },
  }) as ReturnType<Sdk['object']>;
}

/** The object's own handlers, as it calls them. */
interface Itself {
  lineUp(request: Requests['lineUp']): Promise<Answer>;
  tend(at: number | null, options: SendOptions): void;
}

const OPTIONS = [
  'enforcement',
  'name',
  'leaseMs',
  'idleMs',
  'retentionMs',
  'key',
] as const satisfies readonly (keyof PhasegateObjectOptions)[];

/** A run as plain data: what is saved of it, and whether that may be resumed (SPEC §11). */
import { canonicalJson } from './canonical-json.ts';
import { isCount } from './decide.ts';
import { describe } from './describe.ts';
import { type Difference, SavedRunError } from './errors.ts';
import { checkKey, equalInConstantTime, hmacSha256Hex, type Key } from './hash.ts';
import { checkOptions } from './options.ts';
import { isTerminal } from './phases.ts';
import { hashRules, type Rules } from './rules.ts';
import type { RunState } from './supervisor.ts';

const VERSION = 1;

/** A call that was in flight when its run was saved. */
export interface SavedCall {
  /** The number of the call in its run, from 1. */
  readonly seq: number;
  readonly id: string;
  readonly tool: string;
  /** The number of the call that made it, if that was in flight too. */
  readonly parent: number | null;
}

/** Where a child run was begun. */
export interface SavedParent {
  /** The id of its parent run. */
  readonly run: string;
  /** The number of the call of that in whose body it was begun. */
  readonly call: number;
  readonly callId: string;
  readonly budget: 'shared' | 'own';
}

/** A run as `run.save` gives it: JSON can hold all of it, and `enforcement.resumeRun` takes it back (SPEC §11). */
export interface SavedRun {
  /** The version of this format. */
  readonly version: typeof VERSION;
  /** The hash of the table, the budgets and the policies that the run is held to: `supervisor.hash`. */
  readonly rules: string;
  readonly id: string;
  readonly state: RunState;
  /** How many calls it was asked for. */
  readonly callsAsked: number;
  /** Its calls in flight, in the order in which they were admitted. */
  readonly calls: readonly SavedCall[];
  /** Calls in flight of the runs inside of it that share its step budget. */
  readonly childCalls: number;
  /** How many levels of child runs there may be; `null` for no limit. */
  readonly maxDepth: number | null;
  /** `null` for an outermost run. */
  readonly parent: SavedParent | null;
  /** The HMAC-SHA-256 of all else, as canonical JSON (RFC 8785), in hexadecimal; absent without a key. */
  readonly signature?: string;
}

/** How a run is saved. */
export interface SaveOptions {
  /** Signs what is saved: a secret of 16 bytes or more. A text stands for its bytes in UTF-8. */
  readonly key?: Key;
}

/** What a run goes on from: a saved run that was checked. */
export interface Resumption {
  readonly saved: SavedRun;
  readonly inFlight: 'interrupt' | 'keep';
}

const SAVE_OPTIONS = ['key'] as const satisfies readonly (keyof SaveOptions)[];

/**
 * Signs a saved run, if there is a key.
 *
 * @throws {PhasegateError} `invalid-argument`.
 */
export function sealed(run: SavedRun, options: SaveOptions): SavedRun {
  checkOptions('save', options, SAVE_OPTIONS);
  const key = keyOf(options);
  return key === undefined ? run : { ...run, signature: hmacSha256Hex(key, canonicalJson(run)) };
}

// A key that is undefined is a variable of the environment that is not set: nothing would be signed, and no one told.
function keyOf(options: SaveOptions): Key | undefined {
  if (!Object.hasOwn(options, 'key')) return undefined;
  checkKey(options.key);
  return options.key;
}

/**
 * Checks that a saved run is one, and one of these rules: as a run of theirs can have been at some moment.
 *
 * @param dfa Whether budgets are enforced: without that the counters have no bound.
 * @returns A copy of it.
 * @throws {SavedRunError} Whatever it is.
 * @throws {PhasegateError} `invalid-argument` when the key is none.
 */
export function readSavedRun(saved: unknown, rules: Rules, dfa: boolean, options: SaveOptions): SavedRun {
  const key = keyOf(options);
  const run = copyOf(saved);
  const version = run['version'];
  if (version !== VERSION) {
    differs(typeof version === 'number' ? 'version' : 'shape', 'version', String(VERSION), version);
  }
  checkSignature(run, key);
  checkShape(run);
  const hash = hashRules(rules);
  if (run.rules !== hash)
    differs('rules', 'rules', `${describe(hash)}, those of this enforcement`, run.rules);
  checkState(run, rules, dfa);
  checkCalls(run);
  return run;
}

/** The error for a saved run in which something is not what it must be. */
export function differs(what: Difference, path: string, expected: string, got: unknown): never {
  throw new SavedRunError(what, path, `${path} must be ${expected}, got ${describe(got)}`);
}

type Fields = Readonly<Record<string, unknown>>;

// What it was given may change meanwhile, or run code when it is looked at; its JSON does not.
function copyOf(saved: unknown): Fields {
  let copy: unknown;
  try {
    copy = JSON.parse(JSON.stringify(saved));
  } catch {
    copy = undefined;
  }
  if (isRecord(copy)) return copy;
  return differs('shape', 'A saved run', 'the object that run.save() returned', saved);
}

function checkSignature({ signature, ...run }: Fields, key: Key | undefined): void {
  if (key === undefined) {
    if (signature === undefined) return;
    differs('signature', 'signature', 'absent where no key is given to check it with', signature);
  }
  const expected = hmacSha256Hex(key, textOf(run));
  if (typeof signature === 'string' && equalInConstantTime(expected, signature)) return;
  differs('signature', 'signature', 'that of this content with this key', signature);
}

function textOf(run: Fields): string {
  try {
    return canonicalJson(run);
  } catch {
    // Deeper than the stack.
    return differs('shape', 'A saved run', 'the object that run.save() returned', run);
  }
}

function checkShape(run: Fields): asserts run is Fields & SavedRun {
  checkKeys('', run, KEYS);
  text('rules', run['rules']);
  text('id', run['id']);
  count('callsAsked', run['callsAsked']);
  count('childCalls', run['childCalls']);
  if (run['maxDepth'] !== null) count('maxDepth', run['maxDepth']);
  const { state, calls, parent } = run;
  checkKeys('state', state, STATE_KEYS);
  text('state.phase', state['phase']);
  count('state.stepCount', state['stepCount']);
  if (!isRecord(state['loopCount'])) differs('shape', 'state.loopCount', 'an object', state['loopCount']);
  for (const [phase, loops] of Object.entries(state['loopCount'])) count(`state.loopCount.${phase}`, loops);
  count('state.inFlight', state['inFlight']);
  if (typeof state['finished'] !== 'boolean')
    differs('shape', 'state.finished', 'true or false', state['finished']);
  if (state['reason'] !== null) text('state.reason', state['reason'], 'a text or null');
  if (!Array.isArray(calls)) differs('shape', 'calls', 'an array', calls);
  for (const [index, call] of calls.entries()) checkCall(`calls[${index}]`, call);
  if (parent === null) return;
  checkKeys('parent', parent, PARENT_KEYS);
  text('parent.run', parent['run']);
  count('parent.call', parent['call']);
  text('parent.callId', parent['callId']);
  const { budget } = parent;
  if (budget !== 'shared' && budget !== 'own') differs('shape', 'parent.budget', "'shared' or 'own'", budget);
}

function checkCall(path: string, call: unknown): void {
  checkKeys(path, call, CALL_KEYS);
  count(`${path}.seq`, call['seq']);
  text(`${path}.id`, call['id']);
  text(`${path}.tool`, call['tool']);
  if (call['parent'] !== null) count(`${path}.parent`, call['parent']);
}

const KEYS = [
  'version',
  'rules',
  'id',
  'state',
  'callsAsked',
  'calls',
  'childCalls',
  'maxDepth',
  'parent',
] as const satisfies readonly (keyof SavedRun)[];
const STATE_KEYS = [
  'phase',
  'stepCount',
  'loopCount',
  'inFlight',
  'finished',
  'reason',
] as const satisfies readonly (keyof RunState)[];
const CALL_KEYS = ['seq', 'id', 'tool', 'parent'] as const satisfies readonly (keyof SavedCall)[];
const PARENT_KEYS = ['run', 'call', 'callId', 'budget'] as const satisfies readonly (keyof SavedParent)[];

function checkKeys(path: string, value: unknown, keys: readonly string[]): asserts value is Fields {
  if (!isRecord(value)) differs('shape', path, `an object with ${keys.join(', ')}`, value);
  const within = path === '' ? '' : `${path}.`;
  for (const key of keys) if (!Object.hasOwn(value, key)) differs('shape', within + key, 'there', undefined);
  for (const key of Object.keys(value)) {
    if (keys.includes(key) || (path === '' && key === 'signature')) continue;
    differs('shape', path || 'A saved run', `an object with nothing but ${keys.join(', ')}`, key);
  }
}

function isRecord(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function text(path: string, value: unknown, expected = 'a text'): void {
  if (typeof value !== 'string') differs('shape', path, expected, value);
}

function count(path: string, value: unknown): void {
  if (!isCount(value)) differs('shape', path, 'a whole number of 0 or more', value);
}

/** Nothing is resumed that no run of these rules can have come to. */
function checkState({ state, calls, childCalls }: SavedRun, rules: Rules, dfa: boolean): void {
  const { phase, stepCount, loopCount, inFlight, finished, reason } = state;
  if (!rules.table.has(phase)) {
    differs('state', 'state.phase', `one of ${rules.table.phases.join(', ')}`, phase);
  }
  if (finished !== isTerminal(phase)) {
    differs('state', 'state.finished', `${isTerminal(phase)} in ${phase}`, finished);
  }
  if (reason !== null && !finished) {
    differs('state', 'state.reason', 'null in a run that has not ended', reason);
  }
  if (inFlight !== calls.length) {
    differs('state', 'state.inFlight', `${calls.length}, as many as there are calls`, inFlight);
  }
  if (inFlight > 0 && phase !== 'ACTING' && !finished) {
    differs('state', 'state.inFlight', `0 in ${phase}, as calls are in flight in ACTING`, inFlight);
  }
  const most = dfa ? rules.maxSteps : Number.MAX_SAFE_INTEGER;
  if (stepCount + inFlight + childCalls > most) {
    const flying = inFlight + childCalls;
    differs('state', 'state.stepCount', `at most ${most} together with ${flying} calls in flight`, stepCount);
  }
  for (const [looped, loops] of Object.entries(loopCount)) {
    const path = `state.loopCount.${looped}`;
    // A run that has ended keeps those of the phase that it ended from.
    const isPlace = finished ? rules.table.has(looped) && !isTerminal(looped) : looped === phase;
    if (!isPlace || Object.keys(loopCount).length > 1) {
      differs('state', path, 'absent: only the loops of one phase, that of the run, are counted', loops);
    }
    const mostLoops = dfa ? rules.maxLoopsPerPhase : Number.MAX_SAFE_INTEGER;
    if (loops < 1 || loops > mostLoops) differs('state', path, `from 1 to ${mostLoops}`, loops);
  }
}

function checkCalls({ calls, callsAsked }: SavedRun): void {
  const earlier = new Set<number>();
  for (const [index, { seq, tool, parent }] of calls.entries()) {
    const path = `calls[${index}]`;
    if (seq < 1 || seq > callsAsked || earlier.has(seq)) {
      differs('state', `${path}.seq`, `a number from 1 to ${callsAsked} that no other call has`, seq);
    }
    if (tool === '') differs('state', `${path}.tool`, 'the name of a tool', tool);
    // Whoever is called from a body is admitted after the call of that body.
    if (parent !== null && !earlier.has(parent)) {
      differs('state', `${path}.parent`, 'null, or the number of a call before it', parent);
    }
    earlier.add(seq);
  }
}

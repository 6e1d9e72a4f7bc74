/** The scenarios of the specification, for whatever is to follow it. */
import { readFileSync } from 'node:fs';
import type { Decision, RunState, SupervisorOptions } from '../../src/index.ts';

export interface Step {
  readonly do: 'call' | 'succeed' | 'fail' | 'propose' | 'validateAction' | 'finish' | 'abort' | 'begin';
  readonly id?: string;
  readonly tool?: string;
  readonly parent?: string;
  readonly target?: string;
  readonly reason?: string;
  readonly expect: {
    readonly allowed?: boolean;
    readonly code?: string;
    readonly message?: string;
    readonly path?: readonly string[];
    readonly state: Omit<RunState, 'reason'>;
  };
}

export interface Scenario {
  readonly name: string;
  readonly spec?: string;
  readonly options: SupervisorOptions & {
    readonly enabledChecks?: readonly string[];
    readonly parallel?: 'serialize' | 'concurrent';
    readonly table?: {
      readonly phases?: readonly string[];
      readonly add?: readonly (readonly [string, string])[];
      readonly remove?: readonly (readonly [string, string])[];
    };
  };
  readonly steps: readonly Step[];
}

export const FILES = ['scenarios.json', 'random.json'] as const;

export function scenariosOf(file: (typeof FILES)[number]): Scenario[] {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Scenario[];
}

type Awaitable<T> = T | Promise<T>;

/** A run of this process, or one that is kept elsewhere. */
export interface PlayedRun<Call> {
  beforeCall(tool: string, args: unknown, options: { callId?: string; parent: Call | null }): Promise<Call>;
  afterCall(call: Call): Awaitable<void>;
  failCall(call: Call, error?: unknown): Awaitable<void>;
  propose(target: string): Awaitable<Decision>;
  validateActionPhase(): Awaitable<Decision>;
  finish(): Awaitable<void>;
  abort(reason?: unknown): Awaitable<void>;
}

/** What plays scenarios. */
export interface Player<Run extends PlayedRun<Call>, Call> {
  beginRun(): Awaitable<Run>;
  stateOf(run: Run): Awaitable<RunState>;
  /** The refusal in an error of `beforeCall`. */
  refusal(error: unknown): { readonly code: string; readonly message: string } | undefined;
}

/** Drives a run as the scenario says, and answers what each step brought. */
export async function play<Run extends PlayedRun<Call>, Call>(
  steps: readonly Step[],
  player: Player<Run, Call>,
): Promise<Step['expect'][]> {
  const calls = new Map<string | undefined, Call>();
  let run = await player.beginRun();
  const answers: Step['expect'][] = [];
  for (const step of steps) {
    if (step.do === 'begin') run = await player.beginRun();
    const answer = await act(run, step, calls, player);
    const { reason: _, ...state } = await player.stateOf(run);
    answers.push({ ...answer, state });
  }
  return answers;
}

async function act<Run extends PlayedRun<Call>, Call>(
  run: Run,
  { do: what, id: callId, tool = '', parent, target = '', reason }: Step,
  calls: Map<string | undefined, Call>,
  player: Player<Run, Call>,
): Promise<Omit<Step['expect'], 'state'>> {
  switch (what) {
    case 'call':
      try {
        const options = { ...(callId && { callId }), parent: calls.get(parent) ?? null };
        calls.set(callId, await run.beforeCall(tool, {}, options));
        return { allowed: true };
      } catch (error) {
        const refusal = player.refusal(error);
        if (refusal === undefined) throw error;
        return { allowed: false, code: refusal.code, message: refusal.message };
      }
    case 'succeed':
      await run.afterCall(calls.get(callId) as Call);
      return {};
    case 'fail':
      await run.failCall(calls.get(callId) as Call, new Error('the tool failed'));
      return {};
    case 'finish':
      await run.finish();
      return {};
    case 'abort':
      await run.abort(reason);
      return {};
    case 'propose':
      return without(await run.propose(target));
    case 'validateAction':
      return without(await run.validateActionPhase());
    default:
      return {};
  }
}

function without(decision: Decision) {
  if (!decision.allowed) return decision;
  const { state: _, ...rest } = decision;
  return rest;
}

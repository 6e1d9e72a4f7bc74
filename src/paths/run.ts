import { PhasegateError } from '../errors.ts';
import type { Place } from '../graph.ts';
import type { TestPath, TestStep } from './generate.ts';

/** What came of an event. */
export interface Outcome {
  readonly allowed: boolean;
  /** Why it was refused, where that can be told: then it is compared too. */
  readonly code?: string | null | undefined;
}

/**
 * How paths drive something that follows the rules: an enforcement, an actor, an adapter, a service. `Run` is whatever
 * it needs to know of one run.
 */
export interface PathAdapter<Run> {
  /** Begins a run, in IDLE. */
  begin(): Run | Promise<Run>;
  /**
   * Lets an event happen. `call.start` asks for a call: a nested one of the latest call in flight, or a top-level one
   * when none is; `call.join` for one beside it; `call.succeed` and `call.fail` end the latest call in flight.
   */
  perform(run: Run, event: string): Outcome | Promise<Outcome>;
  /** The state that the run is in. */
  state(run: Run): Place | Promise<Place>;
  /** Ends the run, when its path is done or has failed. */
  end?(run: Run): void | Promise<void>;
}

/**
 * Drives one path, step by step.
 *
 * @throws {PhasegateError} `path-mismatch` (rejects) at the first step that does not come out as the machine says.
 * @example for (const path of paths) test(path.name, () => testPath(path, enforcementAdapter(enforcement)));
 */
export async function testPath<Run>(path: TestPath, adapter: PathAdapter<Run>): Promise<void> {
  const run = await adapter.begin();
  try {
    for (const [index, step] of path.steps.entries()) {
      const outcome = await adapter.perform(run, step.event);
      const fault = difference(step, outcome, await adapter.state(run));
      if (fault !== undefined) throw mismatch(path, index, fault);
    }
  } finally {
    await adapter.end?.(run);
  }
}

/**
 * Drives all paths, one after another.
 *
 * @returns How many steps were driven.
 * @throws {PhasegateError} `path-mismatch` (rejects) at the first step that does not come out as the machine says.
 * @example await testPaths(generatePaths(supervisor).paths, enforcementAdapter(enforcement));
 */
export async function testPaths<Run>(paths: readonly TestPath[], adapter: PathAdapter<Run>): Promise<number> {
  let steps = 0;
  for (const path of paths) {
    await testPath(path, adapter);
    steps += path.steps.length;
  }
  return steps;
}

function difference(step: TestStep, outcome: Outcome, state: Place): string | undefined {
  if (outcome.allowed !== step.allowed) return `expected ${answer(step)}, got ${answer(outcome)}`;
  if (!step.allowed && outcome.code !== undefined && outcome.code !== step.code) {
    return `expected ${answer(step)}, got ${answer(outcome)}`;
  }
  for (const key of ['phase', 'stepCount', 'loopCount', 'inFlight'] as const) {
    if (state[key] !== step.state[key]) return `expected ${key} ${step.state[key]}, got ${state[key]}`;
  }
  return undefined;
}

function answer({ allowed, code }: Outcome): string {
  return allowed ? 'to be allowed' : `to be refused${code ? ` (${code})` : ''}`;
}

function mismatch(path: TestPath, index: number, fault: string): PhasegateError {
  const taken = path.steps.slice(0, index + 1).map(({ event }) => event);
  return new PhasegateError(
    'path-mismatch',
    `${path.name}, step ${index + 1}: ${fault}\n  after ${taken.join(', ')}`,
  );
}

import type { Config } from './config.ts';
import { innermostFrame } from './context.ts';
import { isCount } from './decide.ts';
import { invalidArgument, noActiveRun, PhasegateError, type ToolExecutionBlocked } from './errors.ts';
import { checkInspect, type Inspect } from './inspection.ts';
import { createMonitor, enabledAmong, type Monitor } from './monitor.ts';
import { moveTable } from './move-table.ts';
import { type Listener, type Observer, Observers } from './observers.ts';
import { checkOptions } from './options.ts';
import { type ResumeOptions, resume } from './resume.ts';
import { SUPERVISOR_OPTIONS } from './rules.ts';
import type { Run, RunOptions } from './run.ts';
import { checkTimeout } from './run-options.ts';
import type { SavedRun } from './saved-run.ts';
import { SupervisedRun } from './supervised-run.ts';
import { createSupervisor, type Supervisor } from './supervisor.ts';
import type { RunHost, Terms } from './terms.ts';
import { toolOf } from './tool.ts';

/** What an enforcement is made of. */
export interface EnforcementOptions {
  /** Table, budgets and policies. Without it the monitor's, or the configuration's, or the defaults. */
  readonly supervisor?: Supervisor | undefined;
  /** The checks that run on each call besides the supervisor's (SPEC §8). */
  readonly monitor?: Monitor | undefined;
  /** Configuration, as a short way to a monitor that has no checks of its own; not together with `monitor`. */
  readonly config?: Config | undefined;
  /**
   * Which checks run. Without `dfa` phases and counts are kept, and no budget and no table is enforced (SPEC §7).
   * @default the monitor's
   */
  readonly enabledChecks?: readonly string[] | undefined;
  /**
   * What happens to a top-level call that comes while others run: it waits its turn, or joins them (SPEC §5.6).
   * @default 'serialize'
   */
  readonly parallel?: 'serialize' | 'concurrent' | undefined;
  /**
   * Milliseconds after which a call that waits its turn is refused, 1 to 2147483647, or `Infinity`.
   * @default 300000
   */
  readonly waitTimeoutMs?: number | undefined;
  /**
   * How many of its latest decisions a run keeps in its log: a whole number of 0 or more, or `Infinity`.
   * @default 1000
   */
  readonly logLimit?: number | undefined;
  /**
   * Shows each run as an XState actor, from its begin to its end and with its child runs under it: what XState's
   * `createActor` takes as `inspect`, such as the `inspect` of an inspector of `@statelyai/inspect`. It is called on the
   * agent's own path: be quick. What it throws or rejects with is ignored. Without it runs have no actor.
   *
   * @example
   * const enforcement = createEnforcement({ inspect: createWebSocketInspector().inspect });
   */
  readonly inspect?: Inspect | undefined;
}

/** Begins runs, and stands around their tools (SPEC §5). */
export interface Enforcement {
  /** What its runs are held to. */
  readonly supervisor: Supervisor;
  /**
   * Begins a run. End it with `finish`, whether the agent returned or threw; `withRun` does.
   *
   * @throws {ToolExecutionBlocked} `depth-exceeded` (SPEC §10.3).
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const run = enforcement.beginRun({ timeoutMs: 60_000 });
   */
  beginRun(options?: RunOptions): Run;
  /**
   * Takes back a run that was saved, here or elsewhere: it goes on as if it had never been away, but for its log, which is
   * new (SPEC §11). Give what was saved to one process only: each that resumes it has all that was left of its budgets.
   *
   * @param saved What `run.save` returned, from JSON or not.
   * @throws {SavedRunError} when it is no saved run, or not one of this enforcement's table and budgets; nothing is reset.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const run = enforcement.resumeRun(JSON.parse(await store.get(id)), { key, timeoutMs: 60_000 });
   * const notes = run.interrupted.map(({ tool }) => `${tool} was interrupted, and may have taken effect.`);
   * const answer = await enforcement.withRun(() => agent(question, notes), run);
   */
  resumeRun(saved: SavedRun, options?: ResumeOptions): Run;
  /**
   * Begins a run, runs the agent inside of it, and finishes it whatever happens (SPEC §6.1).
   *
   * @param agent Is handed the run. Tools made with {@link tool} find it by themselves.
   * @param options How the run is begun; or a run of this enforcement that was begun or resumed.
   * @returns What the agent returns. It rejects with what the agent throws, and as soon as the run is aborted: with the
   *   reason if that is an error, else with a `RunAbortedError`; at the deadline with one of code `run-timeout`.
   * @example
   * const answer = await enforcement.withRun(() => agent(question), { timeoutMs: 60_000 });
   */
  withRun<T>(agent: (run: Run) => T | PromiseLike<T>, options?: RunOptions | Run): Promise<T>;
  /**
   * Puts a tool under enforcement: the same parameters, the same result. It finds its run by itself, and its caller, so
   * that a call from inside another tool is a nested one. It needs `AsyncLocalStorage`: where the platform has none, use
   * `run.callTool`.
   *
   * @throws {ToolExecutionBlocked} (rejects) when the call is refused; `no-active-run` outside of a run.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const search = enforcement.tool('search', async (query: string) => fetchPages(query));
   */
  tool<This, Params extends unknown[], Result>(
    name: string,
    fn: (this: This, ...params: Params) => Result,
  ): (this: This, ...params: Params) => Promise<Awaited<Result>>;
  /** The run that the present code is inside of; `null` outside of one, or where the platform cannot tell. */
  currentRun(): Run | null;
  /**
   * Tells a listener of everything that happens from now on; or an observer, which may do more.
   *
   * @returns A function that ends the subscription.
   * @throws {PhasegateError} `invalid-argument`.
   * @example
   * const off = enforcement.on((event) => console.log(JSON.stringify(event)));
   */
  on(observer: Listener | Observer): () => void;
}

/**
 * Makes an enforcement. Many runs of it may be live at once, each on its own (SPEC §5.8).
 *
 * @throws {ConfigError} when the configuration has faults.
 * @throws {PhasegateError} `invalid-argument`, `invalid-check`, or `two-supervisors` when the monitor was made with
 *   another supervisor than the one given.
 * @example
 * const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 20 }) });
 * const search = enforcement.tool('search', fetchPages);
 * await enforcement.withRun(() => agent({ tools: { search } }));
 */
export function createEnforcement(options: EnforcementOptions = {}): Enforcement {
  checkMisplaced(options);
  checkOptions('an enforcement', options, OPTIONS);
  const { config, waitTimeoutMs = 300_000, logLimit = 1000 } = options;
  if (config !== undefined && options.monitor !== undefined) {
    throw invalidArgument('config', 'absent where a monitor is given (give it to createMonitor)', config);
  }
  checkParts(options);
  checkTimeout('waitTimeoutMs', waitTimeoutMs);
  if (!isCount(logLimit))
    throw invalidArgument('logLimit', 'a whole number of 0 or more, or Infinity', logLimit);
  if (options.inspect !== undefined) checkInspect(options.inspect);
  const monitor = options.monitor ?? createMonitor(config);
  const parallel = options.parallel ?? monitor.config.dfa?.parallel ?? 'serialize';
  if (parallel !== 'serialize' && parallel !== 'concurrent') {
    throw invalidArgument('parallel', "'serialize' or 'concurrent'", parallel);
  }
  const enabled = enabledAmong(monitor.checkNames, options.enabledChecks ?? monitor.enabledChecks);
  return new SupervisingEnforcement(supervisorOf(options.supervisor, monitor), {
    parallel,
    dfa: enabled.includes('dfa'),
    // The `dfa` check is made when a call is reserved, so that without others nothing is left to await.
    checks: enabled.some((name) => name !== 'dfa')
      ? (call, state, dfa) => monitor.validate(call, state, dfa, enabled)
      : undefined,
    waitTimeoutMs,
    logLimit,
    events: new Observers(),
    inspect: options.inspect,
  });
}

class SupervisingEnforcement implements Enforcement {
  readonly supervisor: Supervisor;
  readonly #host: RunHost;
  #terms: Terms | undefined;

  constructor(supervisor: Supervisor, host: RunHost) {
    this.supervisor = supervisor;
    this.#host = host;
  }

  beginRun(options: RunOptions = {}): SupervisedRun {
    return new SupervisedRun(this.#presentTerms(), options);
  }

  resumeRun(saved: SavedRun, options: ResumeOptions = {}): SupervisedRun {
    return resume(saved, options, this.#presentTerms());
  }

  async withRun<T>(agent: (run: Run) => T | PromiseLike<T>, options?: RunOptions | Run): Promise<T> {
    if (typeof agent !== 'function') throw invalidArgument('agent', 'a function', agent);
    const run = options instanceof SupervisedRun ? options : this.beginRun(options as RunOptions | undefined);
    if (run.host !== this.#host) throw invalidArgument('run', 'one of this enforcement', run);
    try {
      return await run.drive(agent);
    } finally {
      run.finish();
    }
  }

  tool<This, Params extends unknown[], Result>(
    name: string,
    fn: (this: This, ...params: Params) => Result,
  ): (this: This, ...params: Params) => Promise<Awaited<Result>> {
    return toolOf(name, fn, (args) => {
      const run = this.currentRun();
      if (run === null) throw this.#noActiveRun(name, args);
      return run;
    });
  }

  currentRun(): SupervisedRun | null {
    // The run of another enforcement may lie between.
    return innermostFrame(({ run }) => run.host === this.#host)?.run ?? null;
  }

  on(observer: Listener | Observer): () => void {
    if (typeof observer === 'function') return this.#host.events.on({ listen: observer });
    if (typeof observer?.listen !== 'function') {
      throw invalidArgument('observer', 'a function, or an observer with `listen`', observer);
    }
    for (const [name, type, expected] of OF_OBSERVERS) {
      const value = observer[name];
      if (value !== undefined && typeof value !== type)
        throw invalidArgument(`observer.${name}`, expected, value);
    }
    return this.#host.events.on(observer);
  }

  // Made once for all runs between two edits of the supervisor's table.
  #presentTerms(): Terms {
    const { rules } = this.supervisor;
    if (this.#terms?.rules !== rules) this.#terms = { host: this.#host, rules, table: moveTable(rules) };
    return this.#terms;
  }

  #noActiveRun(tool: string, args: unknown): ToolExecutionBlocked {
    const refusal = noActiveRun(tool);
    const { events } = this.#host;
    if (events.observed) {
      const { code, message, stage, phase, stepCount } = refusal;
      events.emit({
        type: 'call.refused',
        time: Date.now(),
        run: null,
        call: null,
        seq: 0,
        tool,
        parent: null,
        args,
        code,
        message,
        stage,
        phase,
        stepCount,
        loopCount: 0,
        waitedMs: 0,
        decisionMs: 0,
      });
    }
    return refusal;
  }
}

const OF_OBSERVERS = [
  ['required', 'boolean', 'true or false'],
  ['results', 'boolean', 'true or false'],
  ['inside', 'function', 'a function'],
] as const satisfies readonly (readonly [keyof Observer, string, string])[];

const OPTIONS = [
  'supervisor',
  'monitor',
  'config',
  'enabledChecks',
  'parallel',
  'waitTimeoutMs',
  'logLimit',
  'inspect',
] as const satisfies readonly (keyof EnforcementOptions)[];

// In JavaScript nothing else tells of these slips, and each would leave the tools without the budget that was meant.
function checkMisplaced(options: object | null): void {
  if (typeof (options as Partial<Supervisor> | null)?.validateActionPhase === 'function') {
    throw new PhasegateError(
      'invalid-argument',
      'createEnforcement takes a supervisor as an option: write createEnforcement({ supervisor })',
    );
  }
  const misplaced = SUPERVISOR_OPTIONS.filter((name) => Object.hasOwn(options ?? {}, name));
  if (misplaced.length === 0) return;
  const names = misplaced.join(', ');
  throw new PhasegateError(
    'invalid-argument',
    `createEnforcement takes no ${names}: write createEnforcement({ supervisor: createSupervisor({ ${names} }) })`,
  );
}

function checkParts({ supervisor, monitor }: EnforcementOptions): void {
  if (supervisor !== undefined && !isSupervisor(supervisor)) {
    throw invalidArgument('supervisor', 'what createSupervisor returns', supervisor);
  }
  if (monitor !== undefined && typeof monitor?.validate !== 'function') {
    throw invalidArgument('monitor', 'what createMonitor returns', monitor);
  }
}

function isSupervisor(supervisor: Supervisor | null): boolean {
  const rules = supervisor?.rules;
  return (
    typeof rules?.table?.pathToActing === 'function' &&
    isCount(rules.maxSteps) &&
    isCount(rules.maxLoopsPerPhase)
  );
}

function supervisorOf(given: Supervisor | undefined, monitor: Monitor): Supervisor {
  if (given !== undefined && monitor.supervisor !== null && given !== monitor.supervisor) {
    throw new PhasegateError(
      'two-supervisors',
      'The monitor was made with another supervisor than the one given, so it is open which table holds. ' +
        'Give one of them only, or the same to both: createMonitor(config, { dfaSupervisor: supervisor })',
    );
  }
  return given ?? monitor.supervisor ?? createSupervisor();
}

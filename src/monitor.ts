import { type Config, parseConfig, supervisorOptions } from './config.ts';
import type { RefusalCode } from './decide.ts';
import { describe, messageOf } from './describe.ts';
import { invalidArgument, PhasegateError, type Stage } from './errors.ts';
import { createSupervisor, type Decision, type RunState, type Supervisor } from './supervisor.ts';

/** A tool call as a check sees it. */
export interface ToolCall {
  readonly tool: string;
  /** What the tool was called with: a model's words, so trust nothing about it. */
  readonly args?: unknown;
  readonly callId?: string;
  readonly runId?: string;
  /** The id of the call that made this one, from inside its body; `null` for a top-level call. */
  readonly parent?: string | null;
}

/** What a check answers. Anything but `{ allowed: true }` refuses (SPEC §8.1). */
export type CheckAnswer =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      /**
       * A stable code of the check's own.
       * @default 'check-refused'
       */
      readonly code?: string | undefined;
      /** Why, for people and for the model. */
      readonly message?: string | undefined;
    };

/**
 * One check of a monitor.
 *
 * @example
 * const noMail: Check = {
 *   name: 'no-mail',
 *   check: (call) => (call.tool === 'send_email' ? { allowed: false, message: 'No mail today' } : { allowed: true }),
 * };
 */
export interface Check {
  /** Names the check in `enabledChecks` and in refusals; not `dfa`, which is the monitor's own. */
  readonly name: string;
  /** Is called with the call and the state before it; may be asynchronous. */
  check(call: ToolCall, state: RunState): CheckAnswer | Promise<CheckAnswer>;
}

/** What one check answered. */
export interface CheckResult {
  readonly name: string;
  readonly allowed: boolean;
  readonly code: RefusalCode | (string & {}) | null;
  readonly message: string | null;
}

/** What a monitor answers (SPEC §8.1). `checks` holds what each check said that ran: none after the first that refuses. */
export interface ValidationResult {
  readonly allowed: boolean;
  /** The check that refused; `null` when none did. */
  readonly stage: Stage | null;
  readonly code: RefusalCode | (string & {}) | null;
  readonly message: string | null;
  readonly checks: readonly CheckResult[];
}

/** What a monitor is made of, besides its configuration. */
export interface MonitorOptions {
  /** Whose `validateActionPhase` the `dfa` check asks; without it, one made from the configuration. */
  readonly dfaSupervisor?: Supervisor | undefined;
  /** The checks of the user's own, run in this order unless `enabledChecks` gives another. */
  readonly checks?: readonly Check[] | undefined;
}

/** Runs checks on a call (SPEC §8). */
export interface Monitor {
  /** The supervisor that it was given, or that its configuration describes; `null` when neither was said. */
  readonly supervisor: Supervisor | null;
  /** The configuration that it was made from. */
  readonly config: Config;
  /** All checks that there are, `dfa` first. */
  readonly checkNames: readonly string[];
  /** The checks that are run, in order. */
  readonly enabledChecks: readonly string[];
  /**
   * Runs the enabled checks in order, up to the first that refuses. Never rejects: a check that throws refuses.
   *
   * @param dfa The answer of the `dfa` check, where it is known already: an enforcement has made that decision when it
   *   reserved the call.
   * @param enabled The checks to run instead of `enabledChecks`.
   * @example (await monitor.validate({ tool: 'search' }, supervisor.initialState())).allowed; // true
   */
  validate(
    call: ToolCall,
    state: RunState,
    dfa?: Decision | undefined,
    enabled?: readonly string[] | undefined,
  ): Promise<ValidationResult>;
}

/**
 * Makes a monitor.
 *
 * @param config The configuration, as {@link parseConfig} takes it.
 * @throws {ConfigError} when the configuration has faults.
 * @throws {PhasegateError} `invalid-check` for a check without a name or a function, a name given twice, or an enabled
 *   check that does not exist.
 * @example const monitor = createMonitor({ enabledChecks: ['dfa', 'no-mail'] }, { checks: [noMail] });
 */
export function createMonitor(
  config: Config = {},
  { dfaSupervisor, checks = [] }: MonitorOptions = {},
): Monitor {
  const parsed = parseConfig(config);
  const options = supervisorOptions(parsed);
  const supervisor = dfaSupervisor ?? (options === undefined ? null : createSupervisor(options));
  return new CheckingMonitor(parsed, supervisor, checks);
}

/**
 * The names of the checks to run, each of which must exist.
 *
 * @throws {PhasegateError} `invalid-check`.
 */
export function enabledAmong(known: readonly string[], enabled: readonly string[]): readonly string[] {
  if (!Array.isArray(enabled)) throw invalidArgument('enabledChecks', 'an array of names', enabled);
  for (const name of enabled) {
    if (known.includes(name)) continue;
    throw new PhasegateError(
      'invalid-check',
      `enabledChecks names ${describe(name)}, and there is no such check. There are: ${known.join(', ')}`,
    );
  }
  return [...new Set(enabled)];
}

class CheckingMonitor implements Monitor {
  readonly config: Config;
  readonly supervisor: Supervisor | null;
  readonly checkNames: readonly string[];
  readonly enabledChecks: readonly string[];
  readonly #checks: ReadonlyMap<string, Check>;
  #default: Supervisor | undefined;

  constructor(config: Config, supervisor: Supervisor | null, checks: readonly Check[]) {
    this.config = config;
    this.supervisor = supervisor;
    this.#checks = named(checks);
    this.checkNames = ['dfa', ...this.#checks.keys()];
    this.enabledChecks = enabledAmong(this.checkNames, config.enabledChecks ?? this.checkNames);
  }

  async validate(
    call: ToolCall,
    state: RunState,
    dfa?: Decision,
    enabled: readonly string[] = this.enabledChecks,
  ): Promise<ValidationResult> {
    const checks: CheckResult[] = [];
    for (const name of enabled) {
      const result = await this.#run(name, call, state, dfa);
      checks.push(result);
      if (!result.allowed) {
        return { allowed: false, stage: name, code: result.code, message: result.message, checks };
      }
    }
    return { allowed: true, stage: null, code: null, message: null, checks };
  }

  async #run(name: string, call: ToolCall, state: RunState, dfa: Decision | undefined): Promise<CheckResult> {
    try {
      const answer: unknown =
        name === 'dfa'
          ? (dfa ?? this.#supervisor().validateActionPhase(state))
          : await this.#checks.get(name)?.check(call, state);
      return read(name, answer);
    } catch (error) {
      return failed(name, messageOf(error));
    }
  }

  #supervisor(): Supervisor {
    this.#default ??= this.supervisor ?? createSupervisor();
    return this.#default;
  }
}

function named(checks: readonly Check[]): ReadonlyMap<string, Check> {
  if (!Array.isArray(checks)) throw invalidArgument('checks', 'an array of { name, check }', checks);
  const byName = new Map<string, Check>();
  for (const check of checks as readonly (Check | undefined)[]) {
    const name = check?.name;
    if (typeof name !== 'string' || name === '' || typeof check?.check !== 'function') {
      throw new PhasegateError(
        'invalid-check',
        `A check must be { name, check } with a name and a function, got ${describe(check)}`,
      );
    }
    if (name === 'dfa' || byName.has(name)) {
      throw new PhasegateError(
        'invalid-check',
        `There are two checks of the name ${describe(name)}; rename one`,
      );
    }
    byName.set(name, check);
  }
  return byName;
}

// Fail closed: only the value `true` of an `allowed` that is there admits.
function read(name: string, answer: unknown): CheckResult {
  if (typeof answer === 'object' && answer !== null) {
    const { allowed, code, message } = answer as Record<string, unknown>;
    if (allowed === true) return { name, allowed: true, code: null, message: null };
    if (allowed === false) {
      return {
        name,
        allowed: false,
        code: typeof code === 'string' && code !== '' ? code : 'check-refused',
        message:
          typeof message === 'string' && message !== ''
            ? message
            : `Check ${describe(name)} refused the call`,
      };
    }
    return failed(name, `answered an object whose allowed is ${describe(allowed)} instead of a decision`);
  }
  return failed(name, `answered ${describe(answer)} instead of a decision`);
}

function failed(name: string, why: string): CheckResult {
  return { name, allowed: false, code: 'check-failed', message: `Check ${describe(name)} failed: ${why}` };
}

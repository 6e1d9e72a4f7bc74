import { type Config, parseConfig } from '../config.ts';
import { invalidArgument } from '../errors.ts';
import { checkReadOptions, driveFiles, type ReadOptions } from './drive-files.ts';
import { Driver, type DriverOptions } from './driver.ts';
import { drivable } from './replay.ts';
import type { RunFigures, RunReport } from './report.ts';
import { Tally } from './tally.ts';

/** What budgets are tried on which recordings. */
export interface TuneOptions extends ReadOptions {
  /** What the runs are held to besides the budgets that are tried. */
  readonly config?: Config | undefined;
  /**
   * The step budgets to try, each without a loop budget: whole numbers of 0 or more.
   * @default STEP_LADDER
   */
  readonly steps?: readonly number[] | undefined;
  /**
   * The loop budgets to try, each without a step budget: whole numbers of 0 or more.
   * @default LOOP_LADDER
   */
  readonly loops?: readonly number[] | undefined;
}

/** The step budgets that are tried when nothing is said. */
export const STEP_LADDER: readonly number[] = [5, 10, 20, 30, 50, 100, 200];
/** The loop budgets that are tried when nothing is said. */
export const LOOP_LADDER: readonly number[] = [0, 1, 2, 3, 5, 8];

/** What one budget would have done. */
export interface Rung {
  readonly budget: number;
  /** How many runs it would have stopped. */
  readonly stopped: number;
  /** At which call of the run, from 1, over those that it would have stopped; `null` when that is none. */
  readonly at: { readonly least: number; readonly median: number; readonly greatest: number } | null;
}

/** How the runs spread in one figure. */
export interface Spread {
  readonly median: number;
  readonly p90: number;
  readonly greatest: number;
  /** How many runs have which number, from the least. */
  readonly runs: readonly (readonly [value: number, runs: number])[];
}

/** What {@link tune} finds. */
export interface TuneReport {
  readonly runs: number;
  readonly calls: number;
  readonly failed: number;
  /** Runs that are stopped under any budgets: by the table. */
  readonly stoppedAnyway: number;
  readonly steps: readonly Rung[];
  readonly loops: readonly Rung[];
  /** How many runs both budgets together would have stopped: a row for each of `steps`, a column for each of `loops`. */
  readonly together: readonly (readonly number[])[];
  /** The least budgets that stop no run that is not stopped anyway. */
  readonly least: { readonly maxSteps: number; readonly maxLoopsPerPhase: number };
  readonly figures: {
    readonly calls: Spread;
    readonly failuresInARow: Spread;
    readonly nested: Spread;
    readonly depth: Spread;
  };
}

/**
 * Replays recorded runs under a ladder of budgets, in one reading: how many runs each budget would have stopped, and where.
 *
 * @throws {PhasegateError} `unreadable-trace` as {@link replay} does, unless `onFault` is given; `invalid-argument` for a
 *   ladder that cannot be one.
 * @throws {ConfigError} when the configuration has faults.
 * @example
 * const { steps, least } = await tune({ files: ['runs.jsonl'], steps: [10, 20, 50] });
 */
export async function tune(options: TuneOptions): Promise<TuneReport> {
  checkReadOptions('tune', options, ['config', 'steps', 'loops']);
  const config = parseConfig(options.config ?? {});
  const free = new FreeRuns(
    ladder('steps', options.steps, STEP_LADDER),
    ladder('loops', options.loops, LOOP_LADDER),
    drivable({ config: withBudgets(config, NO_LIMIT, NO_LIMIT) }),
  );
  const steps = free.steps.map((budget) => new Trial(budget, withBudgets(config, budget, NO_LIMIT)));
  const loops = free.loops.map((budget) => new Trial(budget, withBudgets(config, NO_LIMIT, budget)));
  const all = [free, ...steps, ...loops];
  const driversFor = (file: Pick<DriverOptions, 'file' | 'place' | 'onFault'>) =>
    all.map(({ driven }, index) => {
      // They take the same events, so one of them tells of faults.
      const onFault = index === 0 ? file.onFault : () => undefined;
      return new Driver({ ...driven, ...file, onFault, all: index === 0 });
    });
  for await (const drivers of driveFiles(options, driversFor)) {
    drivers.forEach((driver, index) => {
      for (const report of driver.take()) all[index]?.take(report);
    });
  }
  return {
    ...free.found(),
    steps: steps.map((trial) => trial.found()),
    loops: loops.map((trial) => trial.found()),
  };
}

const NO_LIMIT = Number.POSITIVE_INFINITY;

/** The configuration with these budgets instead of its own. */
function withBudgets(config: Config, maxSteps: number, maxLoopsPerPhase: number): Config {
  return {
    ...config,
    agentProfile: { ...config.agentProfile, resourceBudget: { maxSteps, maxLoopsPerPhase } },
  };
}

function ladder(
  name: string,
  given: readonly number[] | undefined,
  fallback: readonly number[],
): readonly number[] {
  const budgets = given ?? fallback;
  const wrong = budgets.find((budget) => !Number.isSafeInteger(budget) || budget < 0);
  if (wrong !== undefined) throw invalidArgument(name, 'whole numbers of 0 or more', wrong);
  return [...new Set(budgets)].sort((a, b) => a - b);
}

// The runs under one of the budgets.
class Trial {
  readonly driven: ReturnType<typeof drivable>;
  readonly #budget: number;
  readonly #stoppedAt = new Tally();

  constructor(budget: number, config: Config) {
    this.#budget = budget;
    this.driven = drivable({ config });
  }

  take({ firstRefusal }: RunReport): void {
    if (firstRefusal !== null) this.#stoppedAt.add(firstRefusal.seq);
  }

  found(): Rung {
    const stopped = this.#stoppedAt.total;
    const [least, median, greatest] = [0, 0.5, 1].map((part) => this.#stoppedAt.quantile(part)) as [
      number,
      number,
      number,
    ];
    return { budget: this.#budget, stopped, at: stopped === 0 ? null : { least, median, greatest } };
  }
}

// The runs without budgets, which show what each would need. A run that goes through with both budgets goes through with
// either of them, and the other way round: so what both together stop need not be tried.
class FreeRuns {
  readonly steps: readonly number[];
  readonly loops: readonly number[];
  readonly driven: ReturnType<typeof drivable>;
  readonly #together: number[][];
  readonly #tallies = {
    calls: new Tally(),
    steps: new Tally(),
    loops: new Tally(),
    failuresInARow: new Tally(),
    nested: new Tally(),
    depth: new Tally(),
  };
  #calls = 0;
  #failed = 0;
  #stoppedAnyway = 0;

  constructor(steps: readonly number[], loops: readonly number[], driven: ReturnType<typeof drivable>) {
    this.steps = steps;
    this.loops = loops;
    this.driven = driven;
    this.#together = steps.map(() => loops.map(() => 0));
  }

  take({ calls, failed, figures, firstRefusal }: RunReport): void {
    this.#calls += calls;
    this.#failed += failed;
    if (firstRefusal !== null) this.#stoppedAnyway += 1;
    this.#tallies.calls.add(calls);
    for (const name of Object.keys(figures) as (keyof RunFigures)[]) this.#tallies[name].add(figures[name]);
    this.#together.forEach((row, i) => {
      row.forEach((stopped, j) => {
        const fits = figures.steps <= (this.steps[i] ?? 0) && figures.loops <= (this.loops[j] ?? 0);
        if (firstRefusal !== null || !fits) row[j] = stopped + 1;
      });
    });
  }

  found(): Omit<TuneReport, 'steps' | 'loops'> {
    const { calls, steps, loops, failuresInARow, nested, depth } = this.#tallies;
    return {
      runs: calls.total,
      calls: this.#calls,
      failed: this.#failed,
      stoppedAnyway: this.#stoppedAnyway,
      together: this.#together,
      least: { maxSteps: steps.quantile(1), maxLoopsPerPhase: loops.quantile(1) },
      figures: {
        calls: spread(calls),
        failuresInARow: spread(failuresInARow),
        nested: spread(nested),
        depth: spread(depth),
      },
    };
  }
}

function spread(tally: Tally): Spread {
  return {
    median: tally.quantile(0.5),
    p90: tally.quantile(0.9),
    greatest: tally.quantile(1),
    runs: tally.counts,
  };
}

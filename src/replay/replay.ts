import { createEnforcement, type EnforcementOptions } from '../enforcement.ts';
import { checkReadOptions, driveFiles, type ReadOptions } from './drive-files.ts';
import { Driver, type DriverOptions } from './driver.ts';
import type { RunReport } from './report.ts';

/** What recorded runs are held to: see {@link createEnforcement}. A replay waits for no clock and keeps no log. */
export type ReplayEnforcement = Omit<EnforcementOptions, 'waitTimeoutMs' | 'logLimit'>;

/** What is replayed, and how. */
export interface ReplayOptions extends ReadOptions {
  /**
   * Configuration, or supervisor and monitor, and so on.
   * @default the defaults of an enforcement
   */
  readonly enforcement?: ReplayEnforcement | undefined;
  /**
   * Whether a run goes on after a refusal, as if the refused call had not been made, nor what was called inside of it.
   * Without it the rest of the run is only counted.
   * @default false
   */
  readonly all?: boolean | undefined;
}

/**
 * Replays recorded runs: drives an enforcement with them, each body answering as the record says, and tells of each run
 * whether it would have gone through. The calls of a sub-agent are made in a child run; a call without a result is charged
 * as a step.
 *
 * @returns The outermost runs, each as soon as nothing more can come of it.
 * @throws {PhasegateError} `invalid-argument`; `unreadable-trace`, at the end, for what could not be read, unless `onFault` is
 *   given; and what {@link createEnforcement} throws.
 * @example
 * const config = await loadConfig('next.yaml');
 * for await (const { run, verdict, firstRefusal } of replay({ files: ['runs.jsonl'], enforcement: { config } })) {
 *   console.log(run, verdict, firstRefusal?.message);
 * }
 */
export async function* replay(options: ReplayOptions): AsyncGenerator<RunReport, void, undefined> {
  checkReadOptions('replay', options, ['enforcement', 'all']);
  const { all = false } = options;
  const driven = drivable(options.enforcement);
  for await (const drivers of driveFiles(options, (file) => [new Driver({ ...driven, all, ...file })])) {
    for (const driver of drivers) for (const report of driver.take()) yield report;
  }
}

/** An enforcement that a driver can drive, and what the driver has to know of it. */
export function drivable(
  options: ReplayEnforcement = {},
): Pick<DriverOptions, 'enforcement' | 'parallel' | 'checks'> {
  const config = options.monitor?.config ?? options.config;
  const checks = options.enabledChecks ?? options.monitor?.enabledChecks ?? config?.enabledChecks ?? [];
  return {
    checks: checks.some((name) => name !== 'dfa'),
    enforcement: createEnforcement({ ...options, logLimit: 0, waitTimeoutMs: Number.POSITIVE_INFINITY }),
    parallel: options.parallel ?? config?.dfa?.parallel ?? 'serialize',
  };
}

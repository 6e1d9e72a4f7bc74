import type { Inspect } from './inspection.ts';
import type { Monitor, ValidationResult } from './monitor.ts';
import type { MoveTable } from './move-table.ts';
import type { Observers } from './observers.ts';
import type { Rules } from './rules.ts';

/** What the enforcement lends to each of its runs. */
export interface RunHost {
  readonly parallel: 'serialize' | 'concurrent';
  /** Whether the `dfa` stage is on (SPEC §7). */
  readonly dfa: boolean;
  /** Runs the checks besides `dfa`; absent when there are none, so that a call is decided at once. */
  readonly checks: ((...args: Parameters<Monitor['validate']>) => Promise<ValidationResult>) | undefined;
  readonly waitTimeoutMs: number;
  readonly logLimit: number;
  readonly events: Observers;
  /** Who is to see each run as an actor from its begin. */
  readonly inspect: Inspect | undefined;
}

/** What runs are held to that begin between two edits of the table. */
export interface Terms {
  readonly host: RunHost;
  readonly rules: Rules;
  readonly table: MoveTable;
}

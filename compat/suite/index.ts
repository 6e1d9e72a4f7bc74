import { describeCalls } from './calls.ts';
import type { Harness } from './harness.ts';
import { describePaths } from './paths.ts';
import { describeRuns } from './runs.ts';
import { describeStreams } from './streams.ts';

/** Everything that an adapter has to do, for one way to use one framework. */
export function describeAdapter(harness: Harness): void {
  describeCalls(harness);
  describeRuns(harness);
  describeStreams(harness);
  describePaths(harness);
}

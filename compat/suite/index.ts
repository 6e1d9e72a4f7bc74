import type { Harness } from './harness.ts';
import { describePaths } from './paths.ts';
import { describeScenarios } from './scenarios.ts';
import { describeStreams } from './streams.ts';

/** Everything that an adapter has to do, for one way to use one framework. */
export function describeAdapter(harness: Harness): void {
  describeScenarios(harness);
  describeStreams(harness);
  describePaths(harness);
}

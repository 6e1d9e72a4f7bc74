import { describeAdapter } from '../index.ts';
import { harnessOf } from './harness.ts';
import type { Version } from './version.ts';

/** Everything that the adapter has to do in one version of the SDK. */
export function describeMcp(version: Version): void {
  describeAdapter(harnessOf(version));
}

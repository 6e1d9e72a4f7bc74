import { describeAdapter } from '../index.ts';
import { harnessOf } from './harness.ts';
import { describeHttp } from './http.ts';
import { describeServerCalls } from './server-calls.ts';
import { describeServerRuns } from './server-runs.ts';
import { describeServerTools } from './server-tools.ts';
import type { Version } from './version.ts';

/** Everything that the adapter has to do in one version of the SDK. */
export function describeMcp(version: Version): void {
  describeAdapter(harnessOf(version));
  describeServerCalls(version);
  describeServerRuns(version);
  describeServerTools(version);
  describeHttp(version);
}

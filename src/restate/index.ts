/**
 * Runs across machines, on Restate: one object holds a run with all runs inside of it, and agents on any machine call tools in
 * it, under the same rules as in one process.
 *
 * @example
 * // The service
 * import * as restate from '@restatedev/restate-sdk';
 * import { createEnforcement } from 'phasegate';
 * import { phasegateObject } from 'phasegate/restate';
 *
 * await restate.serve({ services: [phasegateObject(restate, { enforcement: createEnforcement() })], port: 9080 });
 *
 * @example
 * // An agent, on any machine
 * import { remoteEnforcement } from 'phasegate/restate';
 *
 * const enforcement = remoteEnforcement({ ingress: 'http://restate:8080' });
 * const search = enforcement.tool('search', async (query: string) => fetchPages(query));
 * await enforcement.withRun(async () => {
 *   await search('xstate');
 * });
 *
 * @module
 */
export { type PhasegateObjectOptions, phasegateObject } from './object.ts';
export type { CallAddress, RunAddress } from './protocol.ts';
export {
  type RemoteEnforcement,
  type RemoteOptions,
  type RemoteRunOptions,
  remoteEnforcement,
} from './remote-enforcement.ts';
export type { RemoteBody, RemoteCall, RemoteCallOptions, RemoteRun } from './remote-run.ts';
export type { RestateSdk } from './restate-sdk.ts';

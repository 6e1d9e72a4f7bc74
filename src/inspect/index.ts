/**
 * Streams what happens in an enforcement to the page of `phasegate inspect`.
 *
 * @example
 * import { createEnforcement } from 'phasegate';
 * import { inspectTo } from 'phasegate/inspect';
 *
 * const enforcement = createEnforcement();
 * enforcement.on(inspectTo('http://127.0.0.1:4983/?token=…'));
 *
 * @module
 */
export { type InspectObserver, type InspectOptions, inspectTo } from './inspect-to.ts';

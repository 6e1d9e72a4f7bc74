/**
 * Runs and calls as OpenTelemetry traces and metrics, by the conventions of GenAI.
 *
 * @module
 * @example
 * import { createEnforcement } from 'phasegate';
 * import { otel } from 'phasegate/otel';
 *
 * const enforcement = createEnforcement();
 * enforcement.on(otel({ agentName: 'researcher' }));
 */
export { otel } from './observer.ts';
export type { OtelOptions } from './options.ts';

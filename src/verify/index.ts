/**
 * Proves what a table and its budgets do for all runs, or shows the shortest way to the fault.
 *
 * @example
 * import { createSupervisor } from 'phasegate';
 * import { verify } from 'phasegate/verify';
 *
 * const { holds, properties, warnings } = verify(createSupervisor({ maxSteps: 20 }));
 *
 * @module
 */
export type { PathStep, Place } from '../graph.ts';
export { type Property, type Verification, type VerifyOptions, verify, type Warning } from './verify.ts';

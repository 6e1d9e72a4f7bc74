/**
 * Generates paths through a phase machine, and drives with them whatever is to follow the same rules.
 *
 * @example
 * import { createEnforcement, createSupervisor } from 'phasegate';
 * import { enforcementAdapter, generatePaths, testPaths } from 'phasegate/paths';
 *
 * const supervisor = createSupervisor({ maxSteps: 5 });
 * const { paths } = generatePaths(supervisor, { cover: 'guards' });
 * await testPaths(paths, enforcementAdapter(createEnforcement({ supervisor })));
 *
 * @module
 */
export type { PathStep, Place } from '../graph.ts';
export { actorAdapter, enforcementAdapter } from './adapters.ts';
export { formatPaths, type PathFormat, type PathRules } from './format.ts';
export { generatePaths, type PathOptions, type PathSuite, type TestPath, type TestStep } from './generate.ts';
export type { Cover, Uncovered } from './goals.ts';
export { type Outcome, type PathAdapter, testPath, testPaths } from './run.ts';

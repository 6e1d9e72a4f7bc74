/**
 * Supervises the tool calls of AI agents: a deterministic phase machine, a step budget, a loop budget, and runs that
 * end once and stay ended.
 *
 * @example
 * import { createEnforcement, createSupervisor } from 'phasegate';
 *
 * const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 20 }) });
 * const search = enforcement.tool('search', async (query: string) => fetchPages(query));
 * await enforcement.withRun(async () => {
 *   await search('xstate');
 * });
 *
 * @module
 */
export { phaseMachine } from '../machines/phase.machine.ts';
export type { Body, Call, CallOptions } from './call.ts';
export { type Config, ConfigError, type ConfigFault, parseConfig } from './config.ts';
export type { Budgets, RefusalCode } from './decide.ts';
export {
  createEnforcement,
  type Enforcement,
  type EnforcementOptions,
} from './enforcement.ts';
export {
  type BlockedDetails,
  type Difference,
  findToolExecutionBlocked,
  isToolExecutionBlocked,
  PhasegateError,
  RunAbortedError,
  SavedRunError,
  type Stage,
  ToolExecutionBlocked,
} from './errors.ts';
export type {
  CallEnded,
  CallRefused,
  CallStarted,
  CallWaiting,
  PhaseEntered,
  PhasegateEvent,
  PhaseProposed,
  RunEnded,
  RunStarted,
} from './events.ts';
export type { Key } from './hash.ts';
export type { Inspect } from './inspection.ts';
export { loadConfig } from './load-config.ts';
export type { LogEntry } from './log.ts';
export { type PhaseContext, type PhaseEvent, type PhaseMachine, phaseSetup } from './machine.ts';
export {
  type Check,
  type CheckAnswer,
  type CheckResult,
  createMonitor,
  type Monitor,
  type MonitorOptions,
  type ToolCall,
  type ValidationResult,
} from './monitor.ts';
export type { Listener, Observer, Scope } from './observers.ts';
export {
  DEFAULT_PHASES,
  DEFAULT_TRANSITIONS,
  type DefaultPhase,
  isTerminal,
  type Phase,
  type Transition,
} from './phases.ts';
export { Refusal } from './refusal.ts';
export type { ResumeOptions } from './resume.ts';
export type { Rules, SupervisorOptions } from './rules.ts';
export type { Run, RunOptions } from './run.ts';
export type { PhaseActor } from './run-actor.ts';
export type { SavedCall, SavedParent, SavedRun, SaveOptions } from './saved-run.ts';
export { createSupervisor, type Decision, type RunState, type Supervisor } from './supervisor.ts';

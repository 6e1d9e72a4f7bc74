/**
 * Replays recorded runs of agents through a configuration: would each have gone through, and if not, where would it have
 * been stopped?
 *
 * @example
 * import { replay } from 'phasegate/replay';
 *
 * for await (const { run, verdict } of replay({ files: ['yesterday.jsonl'] })) console.log(run, verdict);
 *
 * @module
 */
export { faultText, type ReadOptions } from './drive-files.ts';
export type {
  CallBegan,
  CallChecked,
  CallDone,
  Likelihood,
  PhaseAsked,
  RunBegan,
  RunDone,
  TraceEvent,
  TraceFault,
  TraceFormat,
  TraceSource,
} from './format.ts';
export { FORMATS } from './formats/index.ts';
export type { JsonFault, JsonItem, JsonValue } from './json-values.ts';
export type { TraceStream } from './open-file.ts';
export type { PathSegment } from './phase-path.ts';
export { type ReplayEnforcement, type ReplayOptions, replay } from './replay.ts';
export type { FileFault, Refusal, RunFigures, RunReport } from './report.ts';
export {
  LOOP_LADDER,
  type Rung,
  type Spread,
  STEP_LADDER,
  type TuneOptions,
  type TuneReport,
  tune,
} from './tune.ts';

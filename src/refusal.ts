import type { SupervisedCall } from './call.ts';
import type { RefusalCode } from './decide.ts';
import { type BlockedDetails, type Stage, ToolExecutionBlocked } from './errors.ts';
import { hintFor } from './hints.ts';
import type { ValidationResult } from './monitor.ts';
import type { Phase } from './phases.ts';

/**
 * Why a call was refused, as `run.admit` answers it: the same details as {@link ToolExecutionBlocked}, and no error yet,
 * since making one takes many times as long as the decision.
 *
 * @example
 * const answer = run.admit('search', { q });
 * if (answer instanceof Refusal) return `${answer.message}. ${answer.hint}`;
 */
export class Refusal implements BlockedDetails {
  readonly #call: SupervisedCall;
  readonly code: RefusalCode | (string & {});
  /** Why, in words (SPEC §3.3). */
  readonly message: string;
  readonly stage: Stage;
  readonly result: ValidationResult | null;
  readonly phase: Phase;
  /** Where the run is then: the same phase, or the terminal one in which the refusal ended it (SPEC §6.5). */
  readonly phaseAfter: Phase;
  readonly stepCount: number;

  constructor(
    call: SupervisedCall,
    code: RefusalCode | (string & {}),
    message: string,
    stage: Stage,
    result: ValidationResult | null,
    endsIn?: Phase,
  ) {
    this.#call = call;
    this.code = code;
    this.message = message;
    this.stage = stage;
    this.result = result;
    this.phase = call.run.phase;
    this.phaseAfter = endsIn ?? this.phase;
    this.stepCount = call.run.stepCount;
  }

  get tool(): string {
    return this.#call.tool;
  }

  get callId(): string {
    return this.#call.id;
  }

  get runId(): string {
    return this.#call.run.id;
  }

  /** What is legal instead, worded for a model to read. */
  get hint(): string {
    return hintFor(this.code);
  }

  /** The error that `callTool` and `beforeCall` reject with. */
  toError(): ToolExecutionBlocked {
    return new ToolExecutionBlocked(this.message, this);
  }
}

import { describe, messageOf } from './describe.ts';
import type { Stage } from './errors.ts';
import type { ValidationResult } from './monitor.ts';

/** What a monitor answered, as far as it can be trusted. */
export type Answer =
  | { readonly allowed: true }
  | {
      readonly allowed: false;
      readonly code: string;
      readonly message: string;
      readonly stage: Stage;
      readonly result: ValidationResult;
    };

/** Fail closed: whatever is no decision refuses, and so does what cannot be read. */
export function readAnswer(answer: unknown): Answer {
  let result = failedMonitor(`answered ${describe(answer)} instead of a decision`);
  try {
    const { allowed, code, message, stage } = answer as ValidationResult;
    if (allowed === true) return { allowed };
    if (allowed === false) {
      result = { ...result, ...(answer as ValidationResult) };
      return {
        allowed,
        code: typeof code === 'string' ? code : 'check-refused',
        message: typeof message === 'string' ? message : 'A monitor check refused the call',
        stage: typeof stage === 'string' ? stage : 'monitor',
        result,
      };
    }
  } catch (error) {
    result = failedMonitor(messageOf(error));
  }
  return { allowed: false, code: 'check-failed', message: result.message ?? '', stage: 'monitor', result };
}

/** The answer of a monitor that gave none. */
export function failedMonitor(why: string): ValidationResult {
  const message = `Check "monitor" failed: ${why}`;
  return { allowed: false, stage: 'monitor', code: 'check-failed', message, checks: [] };
}

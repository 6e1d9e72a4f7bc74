import type { RefusalCode } from './decide.ts';

/** What is legal instead of a refused call, worded for a model to read. */
export function hintFor(code: string): string {
  return HINTS.get(code) ?? 'Do not repeat this call. Go on without it, or answer.';
}

const ANSWER = 'No further tool call will be run. Answer now with what you have.';

// A check may give a code of any name.
const HINTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    'step-budget': `All tool calls that this run may make are made or under way. ${ANSWER}`,
    'loop-budget':
      'This tool was retried, or tools were called from inside tools, too often in a row. ' +
      'Do not repeat the call: answer with what you have and say what failed.',
    'terminal-phase': `The run has ended. ${ANSWER}`,
    'illegal-transition':
      'Tool calls are not legal at this point of the run. Answer, or go on without the tool.',
    'action-unreachable':
      'Tool calls are not legal at this point of the run. Answer, or go on without the tool.',
    'run-completed': `The run has ended. ${ANSWER}`,
    'no-active-run': 'Tools of this kind run only inside a supervised run. Answer without them.',
    'check-failed': 'The call could not be checked, so it was refused. Go on without it, or answer.',
    'observer-failed': 'The call could not be recorded, so it was refused. Go on without it, or answer.',
    'wait-timeout':
      'Another tool call is still running. Wait for its result before you ask for the next one.',
    'depth-exceeded': 'No further sub-agent may be started. Do the work here, or answer with what you have.',
  } satisfies Partial<Record<RefusalCode, string>>),
);

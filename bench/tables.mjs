// @ts-check
import { DEFAULT_TRANSITIONS } from 'phasegate';

const OWN = 7;

/**
 * A table with phases besides the seven, each with three transitions to others, so that all of them lead on to PLANNING.
 *
 * @param {number} phases How many there are in all, 7 or more.
 */
export function tableOf(phases) {
  const further = Array.from({ length: phases - OWN }, (_, i) => `PHASE_${i}`);
  const last = further.at(-1);
  /** @type {(readonly [string, string])[]} */
  const transitions = [
    ...DEFAULT_TRANSITIONS,
    ...further.flatMap((phase, i) =>
      [i + 1, i * 7 + 3, i * 13 + 5].map(
        (next) => /** @type {const} */ ([phase, further[next % further.length] ?? phase]),
      ),
    ),
  ];
  if (last !== undefined) transitions.push([last, 'PLANNING']);
  return { phases: further, transitions };
}

/** The first decision after a change: what is put off until one is asked for is done then. @param {import('phasegate').Supervisor} supervisor */
export function decide(supervisor) {
  if (!supervisor.validateActionPhase(supervisor.initialState()).allowed) throw new Error('refused');
}

// @ts-check
import { createSupervisor, DEFAULT_TRANSITIONS } from 'phasegate';
import { generatePaths } from 'phasegate/paths';
import { verify } from 'phasegate/verify';

const PHASES = Array.from({ length: 193 }, (_, i) => `PHASE_${i}`);

/** @type {(readonly [string, string])[]} */
const TRANSITIONS = [
  ...DEFAULT_TRANSITIONS,
  ...PHASES.flatMap((phase, i) =>
    [i + 1, i * 7 + 3, i * 13 + 5].map((next) => /** @type {const} */ ([phase, PHASES[next % 193] ?? phase])),
  ),
  ['PHASE_192', 'PLANNING'],
];

const large = { phases: PHASES, transitions: TRANSITIONS };

/** What making and changing a supervisor costs, up to the first decision that follows. @returns {import('./calls.mjs').Task[]} */
export function supervisorTasks() {
  const small = createSupervisor();
  const edited = createSupervisor(large);
  // The large table, entered: what no run reaches costs nothing to verify.
  const entered = createSupervisor(large);
  entered.addTransition('OBSERVING', 'PHASE_0');
  return [
    task('build a supervisor, and decide', () => decide(createSupervisor())),
    task('build a supervisor of 200 phases, and decide', () => decide(createSupervisor(large))),
    task('build a supervisor and its XState machine', () => void createSupervisor({ maxSteps: 20 }).machine),
    task('build one of 200 phases and its XState machine', () => void createSupervisor(large).machine),
    task('add and remove a transition, and decide after each', () => edit(small)),
    task('add and remove one among 200 phases, and decide after each', () => edit(edited)),
    task('verify the default table', () => void verify(small)),
    task('verify 200 phases and nearly 600 transitions', () => void verify(entered)),
    task(
      'generate the paths for every guard of the default table',
      () => void generatePaths(small, { cover: 'guards' }),
    ),
  ];
}

/** @param {import('phasegate').Supervisor} supervisor */
function decide(supervisor) {
  if (!supervisor.validateActionPhase(supervisor.initialState()).allowed) throw new Error('refused');
}

/** @param {import('phasegate').Supervisor} supervisor */
function edit(supervisor) {
  supervisor.addTransition('OBSERVING', 'ACTING');
  decide(supervisor);
  supervisor.removeTransition('OBSERVING', 'ACTING');
  decide(supervisor);
}

/** @param {string} name @param {() => void} run @returns {import('./calls.mjs').Task} */
function task(name, run) {
  return { name, per: 1, run };
}

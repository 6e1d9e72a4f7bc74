// @ts-check
import { createEnforcement, createSupervisor } from 'phasegate';
import { generatePaths } from 'phasegate/paths';
import { verify } from 'phasegate/verify';
import { called } from '../programs/support.mjs';
import { decide, tableOf } from '../tables.mjs';

/** @typedef {import('./task.mjs').Task} Task */

const large = tableOf(200);

/** What making and changing a supervisor costs, up to the first decision, or the first call, that follows. @returns {Task[]} */
export function supervisorTasks() {
  const small = createSupervisor();
  const edited = createSupervisor(large);
  // The large table, entered: what no run reaches costs nothing to verify.
  const entered = createSupervisor(large);
  entered.addTransition('OBSERVING', 'PHASE_0');
  return [
    task('build', 'build a supervisor, and decide', () => decide(createSupervisor())),
    task('build 200', 'build a supervisor of 200 phases, and decide', () => decide(createSupervisor(large))),
    task(
      'build machine',
      'build a supervisor and its XState machine',
      () => void createSupervisor({ maxSteps: 20 }).machine,
    ),
    task(
      'build machine 200',
      'build one of 200 phases and its XState machine',
      () => void createSupervisor(large).machine,
    ),
    task('build call 200', 'build one of 200 phases, and make a call in a run of it', () => {
      call(createSupervisor(large));
    }),
    changes('change', 'change a transition, and decide', small, decide),
    changes('change 200', 'change one among 200 phases, and decide', edited, decide),
    changes('change call 200', 'change one among 200 phases, and make a call in a run', edited, call),
    task('verify', 'verify the default table', () => void verify(small)),
    task('verify 200', 'verify 200 phases and nearly 600 transitions', () => void verify(entered)),
    task(
      'paths',
      'generate the paths for every guard of the default table',
      () => void generatePaths(small, { cover: 'guards' }),
    ),
  ];
}

/** The machine is made, and of it the rows of the table that the run passes. @param {import('phasegate').Supervisor} supervisor */
function call(supervisor) {
  called(createEnforcement({ supervisor }).beginRun());
}

/**
 * @param {string} id @param {string} name
 * @param {import('phasegate').Supervisor} supervisor @param {(supervisor: import('phasegate').Supervisor) => void} then
 * @returns {Task}
 */
function changes(id, name, supervisor, then) {
  const run = () => {
    supervisor.addTransition('OBSERVING', 'ACTING');
    then(supervisor);
    supervisor.removeTransition('OBSERVING', 'ACTING');
    then(supervisor);
  };
  return { id, name, per: 2, run };
}

/** @param {string} id @param {string} name @param {() => void} run @returns {Task} */
function task(id, name, run) {
  return { id, name, per: 1, run };
}

// @ts-check
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from '../median.mjs';

/** @typedef {import('../report/row.mjs').TimedRow} TimedRow */

const root = fileURLToPath(new URL('../..', import.meta.url));

const KINDS = /** @type {const} */ ([
  ['import', '--input-type=module', 'await import'],
  ['require', '--input-type=commonjs', 'require'],
]);

/** What an import costs over one of xstate alone, each in a fresh process. @param {number} rounds @returns {TimedRow[]} */
export function importRows(rounds) {
  return KINDS.map(([word, type, load]) => {
    /** @type {number[]} */
    const alone = [];
    /** @type {number[]} */
    const both = [];
    // By turns, so that what else the machine does hits both alike.
    for (let i = 0; i < rounds; i++) {
      alone.push(time(type, `${load}('xstate')`));
      both.push(time(type, `${load}('phasegate')`));
    }
    return {
      id: word,
      name: `${word} phasegate, over ${word} xstate`,
      ns: (median(both) - median(alone)) * 1e6,
      once: true,
    };
  });
}

/** @param {string} type @param {string} code */
function time(type, code) {
  const script = `const start = performance.now(); ${code}; console.log(performance.now() - start);`;
  const { status, stdout, stderr } = spawnSync(process.execPath, [type, '--eval', script], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return Number(stdout);
}

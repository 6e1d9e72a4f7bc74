// @ts-check
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAMS = new URL('./programs/', import.meta.url);

/**
 * Runs a program of this folder in a process of its own, where nothing that was measured before is left, and answers with
 * the JSON that it prints.
 *
 * @param {string} program @param {readonly (string | number)[]} args @param {readonly string[]} flags Of Node.
 * @returns {any}
 */
export function inChild(program, args = [], flags = []) {
  const file = fileURLToPath(new URL(program, PROGRAMS));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', ...flags, file, ...args.map(String)],
    { encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${stderr}`);
  return JSON.parse(stdout);
}

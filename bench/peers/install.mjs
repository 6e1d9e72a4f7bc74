// @ts-check
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/** Installs what this folder's lock file says, unless that was done since it was written. */
export function ensureInstalled() {
  const installed =
    statSync(`${here}node_modules/.package-lock.json`, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (installed >= statSync(`${here}package-lock.json`).mtimeMs) return;
  console.error('Installing the packages of bench/peers …');
  const { status, error } = spawnSync('npm', ['ci', '--ignore-scripts'], {
    cwd: here,
    // What they print is not what is measured.
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  });
  if (status !== 0)
    throw new Error(`npm ci in bench/peers failed${error === undefined ? '' : `: ${error.message}`}`);
}

/** The versions that are measured, by name. @returns {Record<string, string>} */
export function versions() {
  return JSON.parse(readFileSync(`${here}package.json`, 'utf8')).dependencies;
}

// @ts-check
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const LIVE = fileURLToPath(new URL('../live-runs.mjs', import.meta.url));

/** The heap that a live run takes, measured in a process of its own. @returns {{ name: string, bytes: number }[]} */
export function heapRows() {
  return /** @type {const} */ (['begun', 'after a call', 'actor']).map((kind) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', LIVE, kind], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(stderr);
    const name =
      kind === 'actor'
        ? 'heap of a bare XState actor, of 100,000'
        : `heap of a live run, ${kind}, of 100,000`;
    return { name, bytes: Number(stdout) };
  });
}

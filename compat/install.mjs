// @ts-check
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureBuilt } from '../scripts/ensure-built.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Builds and packs the package, as it is published.
 *
 * @template T
 * @param {(tarball: string) => T} use What is done with it, while it is there.
 */
export async function withPackage(use) {
  await ensureBuilt();
  const packed = mkdtempSync(join(tmpdir(), 'phasegate-compat-'));
  try {
    run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', packed], ROOT);
    const [tarball = ''] = readdirSync(packed);
    return use(join(packed, tarball));
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
}

/** What a folder's lockfile says, and beside it the package. @param {string} folder @param {string} tarball */
export function install(folder, tarball) {
  return installLocked(folder) && unpack(folder, tarball);
}

/** Unless that is what is there. @param {string} folder */
function installLocked(folder) {
  const stamp = join(folder, 'node_modules', '.phasegate-compat');
  const wanted = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return true;
  if (!run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder)) return false;
  writeFileSync(stamp, wanted);
  return true;
}

/** The package as it is published, with its dependencies as the root has them. @param {string} folder @param {string} tarball */
function unpack(folder, tarball) {
  const modules = join(folder, 'node_modules');
  rmSync(join(modules, 'phasegate'), { recursive: true, force: true });
  if (!run('tar', ['-xzf', tarball, '-C', modules], folder)) return false;
  renameSync(join(modules, 'package'), join(modules, 'phasegate'));
  for (const dependency of ['xstate', '@xstate/graph']) {
    const place = join(modules, 'phasegate', 'node_modules', dependency);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', dependency), place, 'junction');
  }
  return true;
}

/** @param {string} command @param {readonly string[]} args @param {string} cwd */
export function run(command, args, cwd) {
  return spawnSync(command, args, { cwd, stdio: 'inherit' }).status === 0;
}

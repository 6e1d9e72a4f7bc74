// @ts-check
/**
 * Installs the frameworks, each with the packed package, and runs the scenarios against them.
 *
 *   npm run test:compat                 all frameworks
 *   npm run test:compat -- ai-sdk-7     those that are named
 *   npm run test:restate                Restate, with its server
 */
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

const root = fileURLToPath(new URL('..', import.meta.url));
const compat = join(root, 'compat');
const all = readdirSync(compat).filter((name) => existsSync(join(compat, name, 'package-lock.json')));
const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`There is no ${unknown.join(', ')} in compat/, but ${all.join(', ')}`);
  process.exit(2);
}

await ensureBuilt();
const packed = mkdtempSync(join(tmpdir(), 'phasegate-compat-'));
try {
  run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', packed], root);
  const [tarball = ''] = readdirSync(packed);
  // Its server is no framework, and takes minutes.
  const names = asked.length > 0 ? asked : all.filter((name) => name !== 'restate');
  const failed = names.filter((name) => !test(name, join(packed, tarball)));
  console.log(
    failed.length === 0 ? `\ncompat: ${names.join(', ')} passed` : `\ncompat: ${failed.join(', ')} FAILED`,
  );
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  rmSync(packed, { recursive: true, force: true });
}

/** @param {string} name @param {string} tarball */
function test(name, tarball) {
  const folder = join(compat, name);
  console.log(`\n── ${name} ──`);
  if (!install(folder) || !unpack(folder, tarball)) return false;
  const checked = types(folder);
  return scenarios(folder) && checked;
}

/** What the lockfile says, unless that is what is there. @param {string} folder */
function install(folder) {
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
    symlinkSync(join(root, 'node_modules', dependency), place, 'junction');
  }
  return true;
}

/** @param {string} folder */
function types(folder) {
  return run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '--project', folder], folder);
}

/** @param {string} folder */
function scenarios(folder) {
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  const config = join(compat, 'suite/vitest.config.ts');
  return run(process.execPath, [vitest, 'run', '--config', config, '--root', folder], folder);
}

/** @param {string} command @param {readonly string[]} args @param {string} cwd */
function run(command, args, cwd) {
  return spawnSync(command, args, { cwd, stdio: 'inherit' }).status === 0;
}

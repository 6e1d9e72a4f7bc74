// @ts-check
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { install, ROOT, run, withPackage } from './install.mjs';
import { readNames } from './names.mjs';

const compat = join(ROOT, 'compat');
const all = readdirSync(compat).filter((name) => existsSync(join(compat, name, 'package-lock.json')));
const asked = readNames(
  `Installs the frameworks, each with the packed package, and runs the scenarios against them.

  npm run test:compat                 all frameworks
  npm run test:compat -- ai-sdk-7     those that are named
  npm run test:restate                Restate, with its server

There are: ${all.join(', ')}`,
  all,
);

// Its server is no framework, and takes minutes.
const names = asked.length > 0 ? asked : all.filter((name) => name !== 'restate');
const failed = await withPackage((tarball) => names.filter((name) => !test(name, tarball)));
console.log(
  failed.length === 0 ? `\ncompat: ${names.join(', ')} passed` : `\ncompat: ${failed.join(', ')} FAILED`,
);
process.exitCode = failed.length === 0 ? 0 : 1;

/** @param {string} name @param {string} tarball */
function test(name, tarball) {
  const folder = join(compat, name);
  console.log(`\n── ${name} ──`);
  if (!install(folder, tarball)) return false;
  const checked = types(folder);
  return scenarios(folder) && checked;
}

/** @param {string} folder */
function types(folder) {
  return run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '--project', folder], folder);
}

/** @param {string} folder */
function scenarios(folder) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const config = join(compat, 'suite/vitest.config.ts');
  return run(process.execPath, [vitest, 'run', '--config', config, '--root', folder], folder);
}

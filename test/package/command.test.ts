import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { manifest } from './manifest.ts';

// As npm installs a command: a link in a folder of its own.
const folder = join(inject('consumer'), 'node_modules/.bin');
const command = join(folder, 'phasegate');
mkdirSync(folder);
symlinkSync('../phasegate/dist/cli/index.js', command);
const phasegate = (...args: string[]) => execFileSync(command, args, { cwd: tmpdir(), encoding: 'utf8' });

test('phasegate --version prints the version of the package, from any folder', () => {
  expect(phasegate('--version').trim()).toBe(manifest.version);
});

test('phasegate --help names its commands, from any folder', () => {
  expect(phasegate('--help')).toMatch(/Usage: phasegate .*\breplay\b/s);
});

import { execFile } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';

const consumer = inject('consumer');
cpSync('test/package/fixtures', consumer, { recursive: true });
writeFileSync(join(consumer, 'package.json'), JSON.stringify({ type: 'module', private: true }));

/** Compiles files as strictly as a user may: all declarations are checked as well, and there are no types of Node. */
async function compile(
  files: readonly string[],
  options: { readonly module: string; readonly moduleResolution?: string },
): Promise<string> {
  const project = join(consumer, `tsconfig.${options.module}.${files.join('.')}.json`);
  const compilerOptions = {
    target: 'es2022',
    strict: true,
    skipLibCheck: false,
    noEmit: true,
    types: [],
    ...options,
  };
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  const compiler = resolve('node_modules/typescript/bin/tsc');
  const run = promisify(execFile)(process.execPath, [compiler, '--project', project]);
  return run.then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

test.each([
  ['nodenext, as both kinds of module', ['types.ts', 'types.cts'], { module: 'nodenext' }],
  ['bundler', ['types.ts'], { module: 'esnext', moduleResolution: 'bundler' }],
])('a strict program compiles under %s, and what is wrong in it does not', async (_, files, options) => {
  expect(await compile(files, options)).toBe('');
});

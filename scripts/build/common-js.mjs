// @ts-check
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { transform } from 'esbuild';

/**
 * Turns the ES modules in the files `.cjs` of a folder into CommonJS. The build splits ES modules only, and what it has to
 * make CommonJS of them rewrites `?.` and `??` as well: a guarded call then takes four times as long.
 *
 * @param {string} folder
 */
export async function toCommonJs(folder) {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.cjs'));
  for (const file of files.map((name) => join(folder, name))) {
    const { code } = await transform(await readFile(file, 'utf8'), {
      format: 'cjs',
      platform: 'node',
      target: 'es2022',
      supported: { 'dynamic-import': false },
    });
    await writeFile(file, code);
  }
}

// @ts-check
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Copies the declarations of ES modules for CommonJS, where TypeScript asks for files of its own kind. To bundle them once
 * more would take as long again.
 *
 * @param {string} folder
 */
export async function copyDeclarations(folder) {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.d.ts'));
  for (const file of files) {
    const text = await readFile(join(folder, file), 'utf8');
    const common = text.replace(/(from '\.[^']*)\.js'/g, "$1.cjs'");
    await writeFile(join(folder, file.replace(/\.d\.ts$/, '.d.cts')), common);
  }
}

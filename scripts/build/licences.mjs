// @ts-check
import { readdir, readFile } from 'node:fs/promises';

/**
 * The licences of all packages of which there is code in what was built.
 *
 * @param {readonly import('rolldown').OutputChunk[]} chunks
 */
export async function licenceTexts(chunks) {
  const texts = await Promise.all(bundledFolders(chunks).map(licenceOf));
  return `${['Code of these packages is part of the files in dist/. Their licences:', ...texts].join(SEPARATOR)}\n`;
}

const SEPARATOR = `\n\n${'-'.repeat(80)}\n\n`;

/** @param {readonly import('rolldown').OutputChunk[]} chunks */
function bundledFolders(chunks) {
  const folders = chunks
    .flatMap(({ modules }) => Object.entries(modules))
    .filter(([, { renderedLength }]) => renderedLength > 0)
    .map(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path.replaceAll('\\', '/'))?.[0]);
  return [...new Set(folders.filter((folder) => folder !== undefined))].sort();
}

/** @param {string} folder */
async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} is bundled, and it has no licence file`);
  const text = await readFile(`${folder}/${file}`, 'utf8');
  return `${name} ${version} (${license})\n\n${text.trim()}`;
}

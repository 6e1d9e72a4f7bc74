// @ts-check
import { readdir, readFile } from 'node:fs/promises';

const SEPARATOR = `\n\n${'-'.repeat(80)}\n\n`;

/** Collects the licences of all packages of which there is code in what is built. */
export function licences() {
  /** @type {Set<string>} */
  const folders = new Set();
  return {
    /** @type {import('esbuild').Plugin} */
    plugin: {
      name: 'licences',
      setup(build) {
        build.onEnd(({ metafile }) => {
          for (const folder of bundledFolders(metafile)) folders.add(folder);
        });
      },
    },
    async texts() {
      const texts = await Promise.all([...folders].sort().map(licenceOf));
      return `${['Code of these packages is part of the files in dist/. Their licences:', ...texts].join(SEPARATOR)}\n`;
    },
  };
}

/** @param {import('esbuild').Metafile | undefined} metafile */
function bundledFolders(metafile) {
  if (metafile === undefined) throw new Error('the build says nothing of what it bundled');
  return Object.values(metafile.outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
}

/** @param {string} folder */
async function licenceOf(folder) {
  const { name, version, license } = JSON.parse(await readFile(`${folder}/package.json`, 'utf8'));
  const file = (await readdir(folder)).find((entry) => /^licen[cs]e(\.(md|txt))?$/i.test(entry));
  if (file === undefined) throw new Error(`${name} ${version} is bundled, and it has no licence file`);
  const text = await readFile(`${folder}/${file}`, 'utf8');
  return `${name} ${version} (${license})\n\n${text.trim()}`;
}

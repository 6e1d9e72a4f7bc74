// @ts-check
/**
 * The files that the agent may see: those of this repository, and nothing outside of it, whatever path a model makes
 * up. Hidden files, `node_modules` and `dist` stay unseen.
 */
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';

const MAX_BYTES = 1_000_000;
const UNSEEN = new Set(['node_modules', 'dist', 'coverage']);

/** @typedef {ReturnType<typeof openRepository>} Repository */

/** @param {string} folder The root of the repository. */
export function openRepository(folder) {
  /**
   * Where the path leads in truth: links are followed first, so that none leads out unseen.
   *
   * @param {string} path Relative to the root.
   */
  async function locate(path) {
    const root = await realpath(folder);
    const wanted = resolve(root, path);
    if (!isVisible(root, wanted)) throw unseen(path);
    let real;
    try {
      real = await realpath(wanted);
    } catch {
      // Not the file system's own words: they hold the whole path, which is no business of a model's.
      throw new Error(`There is no file ${path}`);
    }
    if (!isVisible(root, real)) throw unseen(path);
    return { root, real };
  }

  return {
    /**
     * @param {string} path Relative to the root.
     * @returns {Promise<string>} The text of the file.
     */
    async read(path) {
      const { real } = await locate(path);
      const stats = await stat(real);
      if (!stats.isFile()) throw new Error(`${path} is no file; give the path of one, such as src/run.ts`);
      if (stats.size > MAX_BYTES) {
        throw new Error(`${path} has ${stats.size} bytes; at most ${MAX_BYTES} are read`);
      }
      return await readFile(real, 'utf8');
    },

    /**
     * @param {string} path A folder or a file, relative to the root.
     * @returns {Promise<string[]>} The paths of the files in it, relative to the root, with `/` on every platform.
     */
    async list(path) {
      const { root, real } = await locate(path);
      const found = (await stat(real)).isFile() ? [real] : await filesIn(real);
      return found.map((file) => relative(root, file).split(sep).join('/'));
    },
  };
}

/**
 * Whether a path is inside of the root, and no part of it is hidden.
 *
 * @param {string} root
 * @param {string} path
 */
function isVisible(root, path) {
  const inside = relative(root, path);
  // On another drive it is absolute; outside of the root it begins with `..`, which is hidden like every dot file.
  return !isAbsolute(inside) && inside.split(sep).every((part) => !part.startsWith('.') && !UNSEEN.has(part));
}

/**
 * Links are neither files nor folders here, so none is followed.
 *
 * @param {string} folder
 * @returns {Promise<string[]>}
 */
async function filesIn(folder) {
  const entries = await readdir(folder, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith('.') && !UNSEEN.has(name));
  const found = visible
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map((entry) => {
      const path = resolve(folder, entry.name);
      if (entry.isDirectory()) return filesIn(path);
      return entry.isFile() ? [path] : [];
    });
  return (await Promise.all(found)).flat();
}

/** @param {string} path */
function unseen(path) {
  return new Error(
    `${path} is not among the files of the repository that tools may see; give a path such as src/run.ts`,
  );
}

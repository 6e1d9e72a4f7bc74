// @ts-check
import { builtinModules } from 'node:module';

const NAMES = builtinModules.filter((name) => !/^_|^node:/.test(name)).join('|');

/**
 * Node's modules stay outside of the bundle, under the name with `node:` that Deno asks for. A bundled CommonJS package
 * that requires one gets it from the process: an ES module has no `require`.
 *
 * @returns {import('esbuild').Plugin}
 */
export function builtins() {
  return {
    name: 'builtins',
    setup(build) {
      build.onResolve({ filter: new RegExp(`^(node:)?(${NAMES})$`) }, ({ path, kind }) => {
        const name = path.replace(/^node:/, '');
        return kind === 'require-call'
          ? { path: name, namespace: 'required' }
          : { path: `node:${name}`, external: true };
      });
      build.onLoad({ filter: /.*/, namespace: 'required' }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      }));
    },
  };
}

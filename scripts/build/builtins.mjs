// @ts-check
import { builtinModules } from 'node:module';

const NAMES = builtinModules.filter((name) => !/^_|^node:/.test(name)).join('|');
const REQUIRED = '\0required:';

/**
 * Node's modules stay outside of the bundle, under the name with `node:` that Deno asks for. A bundled CommonJS package
 * that requires one gets it from the process: an ES module has no `require`.
 *
 * @returns {import('rolldown').Plugin}
 */
export function builtins() {
  return {
    name: 'builtins',
    resolveId: {
      filter: { id: new RegExp(`^(node:)?(${NAMES})$`) },
      handler(id, _, { kind }) {
        const name = id.replace(/^node:/, '');
        return kind === 'require-call' ? `${REQUIRED}${name}` : { id: `node:${name}`, external: true };
      },
    },
    load: {
      filter: { id: new RegExp(`^${REQUIRED}`) },
      handler: (id) =>
        `module.exports = process.getBuiltinModule(${JSON.stringify(id.slice(REQUIRED.length))});`,
    },
  };
}

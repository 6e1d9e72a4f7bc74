import { build } from 'esbuild';

/** Bundles the command as the package does, for tests that need it as a process. */
export async function buildCommand(outfile: string): Promise<void> {
  await build({
    entryPoints: ['src/cli/index.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['elkjs'],
    // The bundled commander is CommonJS, and an ES module has no `require` of its own.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    outfile,
    logLevel: 'silent',
  });
}

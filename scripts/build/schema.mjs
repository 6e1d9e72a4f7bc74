// @ts-check
import { build } from 'esbuild';

/** The JSON Schema of a configuration, from the source that also checks one. */
export async function configSchemaText() {
  const { outputFiles } = await build({
    entryPoints: ['src/config-json-schema.ts'],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64');
  const { configJsonSchema } = await import(`data:text/javascript;base64,${code}`);
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}

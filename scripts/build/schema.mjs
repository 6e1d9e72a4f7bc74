// @ts-check
import { rolldown } from 'rolldown';

/** The JSON Schema of a configuration, from the source that also checks one. */
export async function configSchemaText() {
  const build = await rolldown({ input: 'src/config.ts', platform: 'node' });
  const { output } = await build.generate({ codeSplitting: false });
  const code = Buffer.from(output[0].code).toString('base64');
  const { configJsonSchema } = await import(`data:text/javascript;base64,${code}`);
  return `${JSON.stringify(configJsonSchema(), null, 2)}\n`;
}

import { toJsonSchema } from '@valibot/to-json-schema';
import { configSchema } from './config-schema.ts';

/** The JSON Schema of a configuration. The build writes it down; nothing that is published makes one. */
export function configJsonSchema(): object {
  const { $schema, ...schema } = toJsonSchema(configSchema(), {
    target: 'draft-2020-12',
    typeMode: 'output',
    overrideSchema({ valibotSchema, jsonSchema: { required, ...rest } }) {
      // Of a check by code the metadata beside it says what there is to say.
      if (valibotSchema.type === 'custom') return {};
      if (valibotSchema.type === 'strict_tuple') return { ...rest, maxItems: rest.prefixItems?.length };
      return required?.length === 0 ? rest : null;
    },
  });
  return { $schema, title: 'phasegate configuration', ...schema };
}

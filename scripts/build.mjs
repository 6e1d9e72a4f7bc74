// @ts-check
import { rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundle } from './build/bundle.mjs';
import { declarations } from './build/declarations.mjs';
import { commandEntries, dependencies, libraryEntries } from './build/entries.mjs';
import { licenceTexts } from './build/licences.mjs';
import { configSchemaText } from './build/schema.mjs';

process.chdir(fileURLToPath(new URL('..', import.meta.url)));
await rm('dist', { recursive: true, force: true });

const modules = await bundle({ ...libraryEntries, ...commandEntries }, 'esm', dependencies);
const commonJs = await bundle(libraryEntries, 'cjs', dependencies);
await declarations(Object.values(libraryEntries));
await writeFile('dist/config.schema.json', await configSchemaText());
await writeFile('dist/THIRD-PARTY-LICENSES.txt', await licenceTexts([...modules, ...commonJs]));

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { FORMATS, type TraceFormat } from '../../../src/replay/index.ts';

const folder = fileURLToPath(new URL('../fixtures', import.meta.url));

/** The recordings of frameworks that are kept here, by their names. */
export const recordings: readonly string[] = readdirSync(folder).filter((name) => !name.endsWith('.md'));

/** The bytes of one of them. */
export function recording(name: string): Uint8Array {
  return readFileSync(`${folder}/${name}`);
}

/** The format of that name. */
export function formatNamed(name: string): TraceFormat {
  const format = FORMATS.find((one) => one.name === name);
  if (format === undefined) throw new Error(`there is no format ${name}`);
  return format;
}

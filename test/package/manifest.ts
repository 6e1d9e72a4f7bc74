import { readFileSync } from 'node:fs';

interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | object>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export const manifest: Manifest = JSON.parse(readFileSync('package.json', 'utf8'));

/** What users can import or require: the exports that are code, `phasegate` and `phasegate/…`. */
export const codeEntries: readonly string[] = Object.keys(manifest.exports)
  .filter((key) => typeof manifest.exports[key] === 'object')
  .map((key) => key.replace('.', 'phasegate'));

// @ts-check
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';

/**
 * Writes what an enforcement tells as JSON lines: a recording that `phasegate replay` reads.
 *
 * @param {import('phasegate').Enforcement} enforcement
 * @param {string} path
 * @returns {() => Promise<void>} Ends the recording; the file is whole when the promise is.
 */
export function recordTo(enforcement, path) {
  const file = createWriteStream(path);
  const off = enforcement.on((event) => file.write(`${JSON.stringify(event, readable)}\n`));
  return async () => {
    off();
    file.end();
    await finished(file);
  };
}

/** As JSON an error would be an empty object. @param {string} _key @param {unknown} value */
function readable(_key, value) {
  return value instanceof Error ? value.message : value;
}

// @ts-check
import { parseArgs } from 'node:util';

/**
 * What stands behind a command. It ends the process for `--help`, and for what it does not know.
 *
 * @param {string} usage @param {readonly string[]} known The names that it takes.
 * @returns {string[]}
 */
export function readNames(usage, known = []) {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { help: { type: 'boolean', short: 'h', default: false } },
    });
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    const unknown = positionals.filter((name) => !known.includes(name));
    if (unknown.length > 0) {
      const there = known.length > 0 ? `there are: ${known.join(', ')}` : 'it takes no names';
      throw new Error(`There is no ${unknown.join(', ')}; ${there}`);
    }
    return positionals;
  } catch (error) {
    // What Node adds on how to pass names that look like options is of no use here.
    const [message] = String(error instanceof Error ? error.message : error).split('. To specify');
    console.error(`${message}\n\n${usage}`);
    process.exit(2);
  }
}

// @ts-check
import { parseArgs } from 'node:util';

/** @typedef {{ json: boolean, write: boolean, quick: boolean, only: readonly string[] }} Options */

/** How long tasks are run, and what `--quick` makes of it. @param {boolean} quick */
export const spansOf = (quick) =>
  quick
    ? { time: 60, iterations: 5, warmupTime: 30, warmupIterations: 2 }
    : { time: 1500, iterations: 64, warmupTime: 500, warmupIterations: 16 };

/**
 * What stands behind the command. It ends the process for `--help`, and for what it does not know.
 *
 * @param {string} command @param {string} what @param {readonly string[]} parts What `--only` may name; none, and there is no such option.
 * @returns {Options}
 */
export function readOptions(command, what, parts = []) {
  const usage = `Usage: npm run ${command} -- [options]

${what}

  --json        print JSON instead of Markdown (npm run --silent ${command} -- --json)
  --write       write what was measured into docs/performance.md as well
  --quick       take few samples: to try the command, not for figures
${parts.length === 0 ? '' : `  --only PART   measure this part alone; may be given again: ${parts.join(', ')}\n`}  -h, --help    print this`;
  try {
    const { values } = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        write: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true, default: [] },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    const unknown = values.only.find((part) => !parts.includes(part));
    if (unknown !== undefined) {
      throw new Error(`--only ${unknown}: there is no such part; there are: ${parts.join(', ') || 'none'}`);
    }
    if (values.help) {
      console.log(usage);
      process.exit(0);
    }
    if (values.write && values.only.length > 0) {
      throw new Error('--write and --only: what is written is of one run, and whole');
    }
    return values;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    process.exit(2);
  }
}

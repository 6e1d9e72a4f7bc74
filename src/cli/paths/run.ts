import { PhasegateError } from '../../errors.ts';
import { formatPaths } from '../../paths/format.ts';
import { generatePaths } from '../../paths/index.ts';
import type { PathsFlags } from '../commands/paths.ts';
import { EXIT } from '../exit.ts';
import { type Io, writeLine } from '../io.ts';
import { supervisorFrom } from '../supervisor.ts';

/**
 * `phasegate paths`.
 *
 * @returns The exit code.
 */
export async function runPaths(config: string | undefined, flags: PathsFlags, io: Io): Promise<number> {
  const { cover, format, enforcement } = flags;
  if (enforcement !== undefined && format !== 'vitest') {
    throw new PhasegateError(
      'invalid-argument',
      `--enforcement goes with --format vitest, got --format ${format}`,
    );
  }
  const { supervisor, parallel } = await supervisorFrom(config, flags);
  const suite = generatePaths(supervisor, { cover, parallel });
  await writeLine(io.stdout, formatPaths(suite, format, { ...supervisor.rules, parallel }, enforcement));
  return EXIT.ok;
}

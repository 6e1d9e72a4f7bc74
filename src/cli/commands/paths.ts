import { type Command, Option } from 'commander';
import { FORMAT_NAMES, type PathFormat } from '../../paths/format.ts';
import { COVERS, type Cover } from '../../paths/goals.ts';
import type { Io } from '../io.ts';
import { addSupervisorOptions, type SupervisorFlags } from '../supervisor.ts';

/** What `phasegate paths` is told on the command line. */
export interface PathsFlags extends SupervisorFlags {
  readonly cover: Cover;
  readonly format: PathFormat;
  readonly enforcement?: string;
}

/** Adds `phasegate paths`. What it does is loaded when it is run. */
export function addPaths(program: Command, io: Io, onEnd: (code: number) => void): void {
  const command = program
    .command('paths')
    .summary('write few and short test paths through the machine')
    .description(
      'Generates runs that take every phase, every transition, every two transitions in a row, or every guard both ways, ' +
        'refusals too, and says what no run can take, and why.',
    );
  addSupervisorOptions(command)
    .addOption(new Option('--cover <what>', 'what to cover').choices(COVERS).default('transitions'))
    .addOption(new Option('--format <name>', 'how to write it').choices(FORMAT_NAMES).default('table'))
    .option(
      '--enforcement <module>',
      'with --format vitest: the module that exports your `enforcement`, as the test file imports it',
    )
    .addHelpText('after', EXAMPLES)
    .action(async (config: string | undefined, flags: PathsFlags) => {
      const { runPaths } = await import('../paths/run.ts');
      onEnd(await runPaths(config, flags, io));
    });
}

const EXAMPLES = `
Examples:
  $ phasegate paths
  $ phasegate paths phasegate.yaml --cover pairs --format markdown
  $ phasegate paths --cover guards --max-steps 5 --format json
  $ phasegate paths --format vitest > test/paths.test.mjs
  $ phasegate paths --format vitest --enforcement ./enforcement.js > p.test.mjs`;

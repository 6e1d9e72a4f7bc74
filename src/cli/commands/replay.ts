import type { Command } from 'commander';
import { FORMATS } from '../../replay/formats/index.ts';
import type { Io } from '../io.ts';
import { parseBudget } from '../numbers.ts';

/** What `phasegate replay` is told on the command line. */
export interface ReplayFlags {
  readonly config?: string;
  readonly maxSteps?: number;
  readonly maxLoops?: number;
  readonly format: string;
  readonly json?: true;
  readonly all?: true;
}

/** Adds `phasegate replay`. What it does is loaded when it is run. */
export function addReplay(program: Command, io: Io, onEnd: (code: number) => void): void {
  program
    .command('replay')
    .summary('tell which recorded runs would go through, and where the others would be stopped')
    .description(
      'Replays recorded runs of agents: each call is put to the phase machine as it was made, and tells for each run whether ' +
        'it would have gone through, and if not, which call would have been refused first.',
    )
    .argument('<files...>', 'recordings: paths, globs, or - for standard input')
    .option('-c, --config <file>', 'the configuration that they are held to (YAML or JSON)')
    .option('--max-steps <n>', 'the step budget, instead of the one in the configuration', parseBudget)
    .option('--max-loops <n>', 'the loop budget, likewise', parseBudget)
    .option('-f, --format <name>', formatHelp(), 'auto')
    .option('--json', 'print one JSON object a run')
    .option('--all', 'go on after a refusal, as if the call had not been made, and count the refusals')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: ReplayFlags) => {
      const { runReplay } = await import('../replay/run.ts');
      onEnd(await runReplay(files, flags, io));
    });
}

/** What `--format` says of itself. */
export function formatHelp(): string {
  return `how the files are read: auto, ${FORMATS.map(({ name }) => name).join(', ')}, or a module as in ./mine.mjs`;
}

const EXAMPLES = `
Examples:
  $ phasegate replay runs.jsonl
  $ phasegate replay "logs/**/*.jsonl" --config phasegate.yaml
  $ phasegate replay chats.json --max-steps 20 --max-loops 2 --all
  $ phasegate replay session.jsonl --json | jq 'select(.verdict != "allowed")'
  $ zcat runs.jsonl.gz | phasegate replay -`;

import type { Command } from 'commander';
import type { Io } from '../io.ts';
import { parseLadder } from '../numbers.ts';
import { formatHelp } from './replay.ts';

/** What `phasegate tune` is told on the command line. */
export interface TuneFlags {
  readonly config?: string;
  readonly steps?: readonly number[];
  readonly loops?: readonly number[];
  readonly format: string;
  readonly json?: true;
}

/** Adds `phasegate tune`. What it does is loaded when it is run. */
export function addTune(program: Command, io: Io, onEnd: (code: number) => void): void {
  program
    .command('tune')
    .summary('show what different budgets would have done to recorded runs')
    .description(
      'Replays recorded runs under a ladder of step budgets and of loop budgets, in one reading: how many runs each would have ' +
        'stopped, and where. With it come the figures that the two numbers are chosen by.',
    )
    .argument('<files...>', 'recordings: paths, globs, or - for standard input')
    .option('-c, --config <file>', 'what they are held to besides the budgets (YAML or JSON)')
    .option('--steps <list>', 'the step budgets to try, as in 10,20,50', parseLadder)
    .option('--loops <list>', 'the loop budgets to try, as in 0,1,2,3,5', parseLadder)
    .option('-f, --format <name>', formatHelp(), 'auto')
    .option('--json', 'print all of it as one JSON object')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: TuneFlags) => {
      const { runTune } = await import('../tune/run.ts');
      onEnd(await runTune(files, flags, io));
    });
}

const EXAMPLES = `
Examples:
  $ phasegate tune "logs/**/*.jsonl"
  $ phasegate tune runs.jsonl --steps 10,15,20,25 --loops 2,3,4
  $ phasegate tune runs.jsonl --json | jq .least`;

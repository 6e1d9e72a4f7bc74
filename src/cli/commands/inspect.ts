import { type Command, InvalidArgumentError } from 'commander';
import type { Io } from '../io.ts';
import { parseBudget } from '../numbers.ts';
import { collect } from '../supervisor.ts';
import { formatHelp } from './replay.ts';

/** What `phasegate inspect` is told on the command line. */
export interface InspectFlags {
  readonly file?: readonly string[];
  readonly port?: number;
  readonly keep: number;
  readonly config?: string;
  readonly maxSteps?: number;
  readonly maxLoops?: number;
  readonly format: string;
  readonly stately?: string | true;
  readonly json?: true;
}

/** Adds `phasegate inspect`. What it does is loaded when it is run. */
export function addInspect(program: Command, io: Io, onEnd: (code: number) => void): void {
  program
    .command('inspect')
    .summary('show runs on a local page: live, or from files')
    .description(
      'Serves a page, to this machine only, that shows runs as they go: where each is, what is left of its budgets, and why ' +
        'calls were refused. Processes stream to it with inspectTo from phasegate/inspect. Files are shown as well: the ' +
        "package's own recordings as they were recorded, and followed as they grow; all others that replay reads are put\n" +
        'to the configuration, call by call, and its decisions are shown.',
    )
    .argument('[files...]', 'recordings: paths, globs, or - for standard input')
    .option('--file <path>', 'the same; may be repeated', collect)
    .option(
      '-p, --port <n>',
      'the port; 0 for any that is free (default: 4983, or that of PHASEGATE_INSPECT)',
      parsePort,
    )
    .option(
      '--keep <MiB>',
      'how much memory runs may take; then the oldest finished ones are let go',
      parseKeep,
      256,
    )
    .option('-c, --config <file>', 'the configuration that files are put to (YAML or JSON)')
    .option('--max-steps <n>', 'the step budget, instead of the one in the configuration', parseBudget)
    .option('--max-loops <n>', 'the loop budget, likewise', parseBudget)
    .option('-f, --format <name>', formatHelp(), 'auto')
    .option(
      '--stately [url]',
      "show runs in one of Stately's tools too (default: the one at ws://localhost:8080)",
    )
    .option('--json', 'print the address as a JSON object')
    .addHelpText('after', EXAMPLES)
    .action(async (files: string[], flags: InspectFlags) => {
      const { runInspect } = await import('../inspect/run.ts');
      onEnd(await runInspect([...files, ...(flags.file ?? [])], flags, io));
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new InvalidArgumentError('Expected a port: a whole number of 0 to 65535.');
}

function parseKeep(text: string): number {
  const size = Number(text);
  if (/^\d+$/.test(text) && size >= 1 && size <= 65_536) return size;
  throw new InvalidArgumentError('Expected a whole number of mebibytes, 1 to 65536.');
}

const EXAMPLES = `
The page has the token in its address, and so have processes that stream to it.
Both stay the same from one start to the next where PHASEGATE_INSPECT is set to
such an address: for the server, and for inspectTo(), which then needs no
address.

Exit codes: 130 interrupted, 2 wrong usage, or it cannot begin.

Examples:
  $ phasegate inspect
  $ phasegate inspect runs.jsonl
  $ phasegate inspect "logs/**/*.jsonl" --port 0
  $ phasegate inspect session.jsonl --config phasegate.yaml
  $ node agent.mjs --log | phasegate inspect -`;

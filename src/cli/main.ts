import { Command, CommanderError } from 'commander';
import packageJson from '../../package.json' with { type: 'json' };
import { PhasegateError } from '../errors.ts';
import { addAudit } from './commands/audit.ts';
import { addCheck } from './commands/check.ts';
import { addDiagram } from './commands/diagram.ts';
import { addInspect } from './commands/inspect.ts';
import { addPaths } from './commands/paths.ts';
import { addReplay } from './commands/replay.ts';
import { addTune } from './commands/tune.ts';
import { EXIT } from './exit.ts';
import { type Io, paintOn } from './io.ts';

/**
 * Runs the command line.
 *
 * @param args What follows the name of the program.
 * @returns The exit code.
 */
export async function main(args: readonly string[], io: Io): Promise<number> {
  let code: number = EXIT.ok;
  const program = createProgram(io, (ended) => {
    code = ended;
  });
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted;
    // Commander has said what was wrong, or has printed the help or the version that was asked for.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return tellError(error, io);
  }
}

function createProgram(io: Io, onEnd: (code: number) => void): Command {
  const program = new Command('phasegate')
    .description('Replays recorded runs of AI agents through a configuration, and helps to choose one.')
    .version(packageJson.version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .showHelpAfterError('(--help says how it is used)')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
      outputError: (text, write) =>
        write(text.replace(/^error: /, `${paintOn(io.stderr, io.env)('red', 'error')} (usage): `)),
    });
  addReplay(program, io, onEnd);
  addTune(program, io, onEnd);
  addDiagram(program, io, onEnd);
  addCheck(program, io, onEnd);
  addPaths(program, io, onEnd);
  addInspect(program, io, onEnd);
  addAudit(program, io, onEnd);
  addHelp(program);
  return program.addHelpText('after', EXIT_CODES);
}

// Commander's own answers an unknown name with the help of the program, and says nothing of the name.
function addHelp(program: Command): void {
  program
    .command('help')
    .description('print the help of a command')
    .argument('[command...]', 'the command, as in audit verify; without it the program')
    .action((names: string[]) => {
      let command = program;
      for (const name of names) {
        const inner = command.commands.find((one) => one.name() === name);
        if (inner === undefined) program.error(`error: unknown command '${names.join(' ')}'`);
        command = inner;
      }
      command.help();
    });
}

const EXIT_CODES = `
Exit codes:
  0    all runs are allowed, all properties hold, all records are as written
  1    some runs are refused, some property fails, some record was changed
  2    wrong usage, or input that cannot be read (the rest is done all the same)
  70   a fault of phasegate itself
  130  interrupted`;

function tellError(error: unknown, io: Io): number {
  const paint = paintOn(io.stderr, io.env);
  const known = error instanceof PhasegateError;
  const code = known ? error.code : 'internal-fault';
  const message = error instanceof Error ? error.message : String(error);
  io.stderr.write(`${paint('red', 'error')} (${code}): ${message}\n`);
  if (!known && io.env.PHASEGATE_DEBUG && error instanceof Error) io.stderr.write(`${error.stack ?? ''}\n`);
  return known ? EXIT.usage : EXIT.fault;
}

import { type Command, InvalidArgumentError } from 'commander';
import { supervisorOptions } from '../config.ts';
import { PhasegateError } from '../errors.ts';
import type { Transition } from '../phases.ts';
import { createSupervisor, type Supervisor } from '../supervisor.ts';
import { parseBudget } from './numbers.ts';
import { configFrom } from './options.ts';

/** The flags that say which supervisor a command is about. */
export interface SupervisorFlags {
  readonly config?: string;
  readonly maxSteps?: number;
  readonly maxLoops?: number;
  readonly add?: readonly Transition[];
  readonly remove?: readonly Transition[];
}

/** Adds the argument that names a configuration, and the option that replay and tune have for it. */
export function addConfigArgument(command: Command): Command {
  return command
    .argument('[config]', 'the configuration (YAML or JSON); without it the defaults')
    .option('-c, --config <file>', 'the same, as replay and tune take it');
}

/**
 * The configuration that was named in one of the two ways.
 *
 * @throws {PhasegateError} `invalid-argument` when it was named in both.
 */
export function configNamed(argument: string | undefined, option: string | undefined): string | undefined {
  if (argument === undefined || option === undefined) return argument ?? option;
  throw new PhasegateError(
    'invalid-argument',
    `A configuration is given twice, as ${argument} and as --config ${option}: give it once`,
  );
}

/** Adds the argument and the options that say which supervisor a command is about. */
export function addSupervisorOptions(command: Command): Command {
  return addConfigArgument(command)
    .option('--max-steps <n>', 'the step budget, instead of the one in the configuration', parseBudget)
    .option('--max-loops <n>', 'the loop budget, likewise', parseBudget)
    .option('--add <from:to>', 'try with one transition more; may be repeated', collectTransitions)
    .option('--remove <from:to>', 'try with one transition less; may be repeated', collectTransitions);
}

/** The supervisor of a configuration, with the edits that were asked for, and what its enforcement does with calls at once. */
export async function supervisorFrom(
  file: string | undefined,
  flags: SupervisorFlags,
): Promise<{ readonly supervisor: Supervisor; readonly parallel: 'serialize' | 'concurrent' }> {
  const { maxSteps, maxLoops } = flags;
  const config = await configFrom({ config: configNamed(file, flags.config), maxSteps, maxLoops });
  const supervisor = createSupervisor(supervisorOptions(config));
  for (const [from, to] of flags.remove ?? []) {
    if (supervisor.removeTransition(from, to)) continue;
    const legal = supervisor.rules.table.targetsOf(from).join(', ') || 'nowhere';
    throw new PhasegateError(
      'invalid-transition',
      `There is no transition ${from} -> ${to} to remove: from ${from} the table leads to ${legal}`,
    );
  }
  for (const [from, to] of flags.add ?? []) supervisor.addTransition(from, to);
  return { supervisor, parallel: config.dfa?.parallel ?? 'serialize' };
}

/** A transition as it is written on the command line, `FROM:TO` or `FROM -> TO`, after those given before. */
export function collectTransitions(text: string, before: readonly Transition[] = []): readonly Transition[] {
  const [from, to, ...rest] = text.split(/\s*(?::|->)\s*/);
  if (!from || !to || rest.length > 0) {
    throw new InvalidArgumentError('Expected FROM:TO, or "FROM -> TO", as in OBSERVING:ACTING.');
  }
  return [...before, [from.trim(), to.trim()]];
}

/** A value after those given before. */
export function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

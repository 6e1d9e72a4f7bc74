import type { Command } from 'commander';
import type { Phase, Transition } from '../../phases.ts';
import type { Io } from '../io.ts';
import { addSupervisorOptions, collect, collectTransitions, type SupervisorFlags } from '../supervisor.ts';

/** What `phasegate check` is told on the command line. */
export interface CheckFlags extends SupervisorFlags {
  readonly never?: readonly Transition[];
  readonly alwaysVia?: readonly Phase[];
  readonly json?: true;
}

/** Adds `phasegate check`. What it does is loaded when it is run. */
export function addCheck(program: Command, io: Io, onEnd: (code: number) => void): void {
  const command = program
    .command('check')
    .summary('prove what a table and its budgets do for all runs, or show the shortest way to the fault')
    .description(
      'Proves for all runs that could ever be: every phase and transition can be reached, ACTING can be reached again, ' +
        'no phase is a trap, no budget is passed. Where a property fails, shows the shortest run that shows it.',
    );
  addSupervisorOptions(command)
    .option(
      '--never <from:to>',
      'claim that no run takes this transition; may be repeated',
      collectTransitions,
    )
    .option('--always-via <phase>', 'claim that each way from OBSERVING to ACTING leads through it', collect)
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXAMPLES)
    .action(async (config: string | undefined, flags: CheckFlags) => {
      const { runCheck } = await import('../check/run.ts');
      onEnd(await runCheck(config, flags, io));
    });
}

const EXAMPLES = `
Exit codes: 0 all properties hold, 1 one fails, 2 wrong usage or a faulty
configuration.

Examples:
  $ phasegate check
  $ phasegate check phasegate.yaml --json
  $ phasegate check --add OBSERVING:ACTING --remove ACTING:OBSERVING
  $ phasegate check --never "IDLE -> ACTING"
  $ phasegate check review.yaml --always-via REVIEWING`;

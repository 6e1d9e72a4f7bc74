import { type Command, Option } from 'commander';
import type { Io } from '../io.ts';
import { addConfigArgument } from '../supervisor.ts';

/** What `phasegate diagram` is told on the command line. */
export interface DiagramFlags {
  readonly config?: string;
  readonly format?: 'mermaid' | 'svg' | 'json' | 'xstate';
  readonly theme: 'auto' | 'light' | 'dark';
  readonly out?: string;
}

/** Adds `phasegate diagram`. What it does is loaded when it is run. */
export function addDiagram(program: Command, io: Io, onEnd: (code: number) => void): void {
  const command = program
    .command('diagram')
    .summary('draw the phases and transitions of a configuration')
    .description(
      'Draws the phases and transitions of a configuration, or the default ones: as a Mermaid state diagram, as SVG, as a ' +
        'directed graph in JSON, or as the JSON config of the XState machine, which createMachine takes.',
    );
  addConfigArgument(command)
    .addOption(
      new Option(
        '-f, --format <name>',
        'what to make (default: mermaid, or svg for an --out that ends so)',
      ).choices(['mermaid', 'svg', 'json', 'xstate']),
    )
    .addOption(
      new Option('--theme <name>', 'the colours of the SVG; auto follows the system of who looks at it')
        .choices(['auto', 'light', 'dark'])
        .default('auto'),
    )
    .option('-o, --out <file>', 'where to write it, instead of standard output')
    .addHelpText('after', EXAMPLES)
    .action(async (config: string | undefined, flags: DiagramFlags) => {
      const { runDiagram } = await import('../diagram/run.ts');
      onEnd(await runDiagram(config, flags, io));
    });
}

const EXAMPLES = `
Examples:
  $ phasegate diagram
  $ phasegate diagram phasegate.yaml --out phases.svg
  $ phasegate diagram phasegate.yaml --format json | jq '.children[].id'
  $ phasegate diagram phasegate.yaml --format xstate --out machine.json`;

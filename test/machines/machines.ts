import { phaseMachine } from '../../machines/phase.machine.ts';
import { reviewMachine } from '../../machines/review.machine.ts';
import { strictMachine } from '../../machines/strict.machine.ts';
import { supervisorOptions } from '../../src/config.ts';
import { type Config, createSupervisor, loadConfig } from '../../src/index.ts';

/** The machines that are written out, each with the configuration that it is the machine of. */
export const MACHINES = [
  { file: 'phase.machine.ts', machine: phaseMachine, config: undefined },
  { file: 'review.machine.ts', machine: reviewMachine, config: 'review.yaml' },
  { file: 'strict.machine.ts', machine: strictMachine, config: 'strict.yaml' },
] as const;

/** A configuration of the examples. */
export function exampleConfig(name: string): Promise<Config> {
  return loadConfig(new URL(`../../examples/machines/${name}`, import.meta.url).pathname);
}

/** The supervisor of a configuration of the examples, or the default one. */
export async function supervisorOf(config: string | undefined) {
  return createSupervisor(config === undefined ? {} : supervisorOptions(await exampleConfig(config)));
}

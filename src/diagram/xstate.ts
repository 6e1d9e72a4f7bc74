import { phaseMachineConfig } from '../machine.ts';
import type { Supervisor } from '../supervisor.ts';

/** The config of a phase machine: what XState's `createMachine` takes. */
export type PhaseMachineConfig = ReturnType<typeof phaseMachineConfig>;

/**
 * The config of a supervisor's machine, as plain data: states, transitions, the names of guards and actions, and the
 * counters at their start. What the names stand for is in `phaseSetup`.
 *
 * A budget without limit is `Infinity` in it, which JSON does not have: to write it, take {@link toXStateJson}.
 *
 * @example
 * const machine = phaseSetup.createMachine(toXStateConfig(supervisor));
 */
export function toXStateConfig(supervisor: Supervisor): PhaseMachineConfig {
  return phaseMachineConfig(supervisor.rules);
}

/**
 * The same as JSON, which `createMachine(JSON.parse(text))` takes back unchanged.
 *
 * A budget without limit is written `1e999`: a number of JSON's that is too large for any double, so that `JSON.parse`
 * reads it as `Infinity`. What `JSON.stringify` makes of `Infinity`, `null`, would be a budget of nothing.
 *
 * @returns Indented JSON; its last line ends too.
 * @example
 * await writeFile('machine.json', toXStateJson(supervisor));
 */
export function toXStateJson(supervisor: Supervisor): string {
  const text = JSON.stringify(
    toXStateConfig(supervisor),
    (_, value: unknown) => (value === Number.POSITIVE_INFINITY ? NO_LIMIT : value),
    2,
  );
  return `${text.replaceAll(JSON.stringify(NO_LIMIT), '1e999')}\n`;
}

// Not the name of anything: phases are in capitals, and the rest of the config is the package's own.
const NO_LIMIT = 'no limit';

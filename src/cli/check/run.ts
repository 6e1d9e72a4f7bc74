import { type Property, type Verification, verify, type Warning } from '../../verify/index.ts';
import type { CheckFlags } from '../commands/check.ts';
import { EXIT } from '../exit.ts';
import { type Io, type Paint, paintOn, widthOf, writeLine } from '../io.ts';
import { supervisorFrom } from '../supervisor.ts';
import { count, wrap } from '../text.ts';

/**
 * `phasegate check`.
 *
 * @returns The exit code.
 */
export async function runCheck(config: string | undefined, flags: CheckFlags, io: Io): Promise<number> {
  const { supervisor, parallel } = await supervisorFrom(config, flags);
  const { never, alwaysVia } = flags;
  const verification = verify(supervisor, { never, alwaysVia, parallel });
  const { table, maxSteps, maxLoopsPerPhase } = supervisor.rules;
  const lines =
    flags.json === true
      ? [JSON.stringify(verification)]
      : [
          `${count(table.phases.length, 'phase')}, ${count(table.transitions.length, 'transition')}, ` +
            `${maxSteps} steps, ${maxLoopsPerPhase} loops a phase`,
          '',
          ...report(verification, paintOn(io.stdout, io.env), widthOf(io.stdout)),
        ];
  for (const line of lines) await writeLine(io.stdout, line);
  return verification.holds ? EXIT.ok : EXIT.refused;
}

function report({ properties, warnings, explored }: Verification, paint: Paint, width: number): string[] {
  const failed = properties.filter((property) => !property.holds).length;
  const verdict =
    failed === 0
      ? paint('green', `All ${properties.length} properties hold.`)
      : paint(
          'red',
          `${failed} of ${count(properties.length, 'property', 'properties')} ${failed === 1 ? 'fails' : 'fail'}.`,
        );
  const how = `${count(explored.states, 'state')} explored, with ${explored.maxSteps} steps and ${explored.maxLoopsPerPhase} loops: larger budgets change no answer.`;
  return [
    ...properties.flatMap((property) => propertyLines(property, paint, width)),
    ...(warnings.length === 0 ? [] : ['']),
    ...warnings.flatMap((warning) => warningLines(warning, paint, width)),
    '',
    verdict,
    ...wrap(how, width, '').map((line) => paint('dim', line)),
  ];
}

function propertyLines(
  { statement, holds, details, counterexample }: Property,
  paint: Paint,
  width: number,
): string[] {
  const mark = holds ? paint('green', '✓') : paint('red', '✗');
  const path = counterexample ?? [];
  const event = Math.max(0, ...path.map((step) => step.event.length));
  const phase = Math.max(0, ...path.map((step) => step.state.phase.length));
  return [
    `${mark} ${statement}`,
    ...details
      .flatMap((detail) => wrap(detail, width, '    '))
      .map((line) => (holds ? paint('dim', line) : line)),
    ...(path.length === 0 ? [] : ['    The shortest way there, from IDLE:']),
    ...path.map(({ event: name, state }, i) => {
      const { stepCount, loopCount, inFlight } = state;
      const number = String(i + 1).padStart(String(path.length).length);
      return `    ${number}. ${name.padEnd(event)}  ${state.phase.padEnd(phase)}  steps ${stepCount}  loops ${loopCount}  in flight ${inFlight}`;
    }),
  ];
}

function warningLines({ message }: Warning, paint: Paint, width: number): string[] {
  return wrap(message, width, '  ').map((line, i) =>
    i === 0 ? line.replace(' ', paint('yellow', '!')) : line,
  );
}

import { isTerminal, type Phase } from '../phases.ts';
import type { Supervisor } from '../supervisor.ts';
import { ANY_LIVE, type Arrow, pictureOf } from './picture.ts';

/**
 * The phases of a supervisor as a Mermaid state diagram (`stateDiagram-v2`).
 *
 * It shows the transitions of the table, and what else can happen only where the rules depart from the default ones: so
 * the default table is drawn line by line as the rules draw it (SPEC §1.2). {@link toSvg} shows more.
 *
 * @returns The diagram; its last line ends too.
 * @example console.log(toMermaid(createSupervisor()));
 */
export function toMermaid(supervisor: Supervisor): string {
  const { phases, arrows } = pictureOf(supervisor.rules);
  const names = phases.map(({ name }) => name);
  const shown = arrows.filter((arrow) => arrow.legal || departs(arrow));
  const mentioned = new Set(['IDLE', ...shown.flatMap(({ from, to }) => [from, to])]);
  const lines = [
    ...names.filter((name) => idOf(name) !== name).map((name) => `state "${name}" as ${idOf(name)}`),
    '[*] --> IDLE',
    ...names.filter((name) => !isTerminal(name) && !mentioned.has(name)).map(idOf),
    ...shown.flatMap((arrow) => linesOf(arrow, names)),
    ...names.filter(isTerminal).map((name) => `${name} --> [*]`),
  ];
  return `stateDiagram-v2\n${lines.map((line) => `    ${line}\n`).join('')}`;
}

// The self-loop on ACTING and the ways to finish are there whatever the rules say.
function departs({ from, to }: Arrow): boolean {
  return from === ANY_LIVE ? to !== 'ANSWERING' : from !== to;
}

function linesOf({ from, to, legal, label }: Arrow, names: readonly Phase[]): string[] {
  const sources = from === ANY_LIVE ? names.filter((name) => !isTerminal(name)) : [from];
  const said = legal ? '' : `: ${label.join(' ')}`;
  return sources.map((source) => `${idOf(source)} --> ${idOf(to)}${said}`);
}

// Mermaid knows its own words in any case, and would take a phase of such a name for an instruction. No phase's name
// begins with a small letter.
function idOf(phase: Phase): string {
  return MERMAID_WORDS.test(phase) ? `phase_${phase}` : phase;
}

const MERMAID_WORDS =
  /^(?:STATE|STATEDIAGRAM|NOTE|AS|END|DIRECTION|CLASS|CLASSDEF|STYLE|SCALE|HIDE|DEFAULT|CLICK|HREF)$/;

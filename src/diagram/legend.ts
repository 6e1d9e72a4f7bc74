import type { Rules } from '../rules.ts';
import { ANY_LIVE, type Picture } from './picture.ts';
import { arrow, rect, text } from './shapes.ts';
import { LABEL, widthOf } from './text.ts';

const LINE = 22;
const LEFT = 24;

/** What is written under a diagram. */
export interface Legend {
  readonly width: number;
  readonly height: number;
  /** @param top Where it begins. */
  draw(top: number): string[];
}

/** The legend of a picture: both budgets, and what its lines mean. */
export function legendOf(rules: Rules, { phases }: Picture): Legend {
  const unreached = phases.filter(({ rank }) => rank === Number.POSITIVE_INFINITY).map(({ name }) => name);
  const entries: readonly (readonly [sample: (middle: number) => string, said: string])[] = [
    [legal, 'a legal transition'],
    [set, 'made by a call, or by the end of the run: it is not proposed'],
    [terminal, 'terminal: the run has ended, and no call is legal'],
    ...(unreached.length === 0 ? [] : [[dotted, `nothing leads there: ${unreached.join(', ')}`] as const]),
  ];
  const budget = budgets(rules);
  const lines = [budget, ...entries.map(([, said]) => said)];
  return {
    width: Math.max(...lines.map((line) => widthOf(line, LABEL))) + 3 * LEFT + 18,
    height: lines.length * LINE + 16,
    draw: (top) => {
      const middle = (line: number) => top + LINE * (line + 0.5);
      return [
        text(LEFT, middle(0) + 4, budget, 'pg-label'),
        ...entries.map(([sample, said], index) => {
          const y = middle(index + 1);
          return sample(y) + text(LEFT + 42, y + 4, said, 'pg-label');
        }),
      ];
    },
  };
}

/** All that a picture says, for who cannot see it. */
export function inWords(rules: Rules, { phases, arrows }: Picture): string {
  const transitions = arrows.map(({ from, to, label }) => {
    const when = label.length === 0 ? '' : ` (${label.join(' ')})`;
    return `${from === ANY_LIVE ? 'any live phase' : from} to ${to}${when}`;
  });
  const ends = phases.filter((phase) => phase.terminal).map(({ name }) => name);
  return `A run begins in IDLE. ${transitions.join('; ')}. Terminal: ${ends.join(', ')}. ${budgets(rules)}`;
}

function budgets({ maxSteps, maxLoopsPerPhase }: Rules): string {
  const steps = maxSteps === Number.POSITIVE_INFINITY ? 'any number of' : maxSteps;
  const loops = maxLoopsPerPhase === Number.POSITIVE_INFINITY ? 'any number of' : maxLoopsPerPhase;
  return (
    `Step budget: ${steps} ${maxSteps === 1 ? 'call' : 'calls'} of a run may end well. ` +
    `Loop budget: ${loops} ${maxLoopsPerPhase === 1 ? 'self-loop' : 'self-loops'} on a phase before it is left.`
  );
}

function legal(y: number): string {
  return arrow(way(y), 'pg-arrow');
}

function set(y: number): string {
  return arrow(way(y), 'pg-arrow pg-set');
}

function way(y: number) {
  return [
    { x: LEFT, y },
    { x: LEFT + 32, y },
  ];
}

function terminal(y: number): string {
  return `<g class="pg-phase">${rect(around(y, 0), 4)}${rect(around(y, 3), 2)}</g>`;
}

function dotted(y: number): string {
  return `<g class="pg-phase pg-unreached">${rect(around(y, 0), 4)}</g>`;
}

function around(y: number, inset: number) {
  return { x: LEFT + 2 + inset, y: y - 6 + inset, width: 28 - 2 * inset, height: 12 - 2 * inset };
}

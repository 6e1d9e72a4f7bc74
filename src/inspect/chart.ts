import { layOut } from '../diagram/layout.ts';
import { pictureOf } from '../diagram/picture.ts';
import { PhasegateError } from '../errors.ts';
import { DEFAULT_PHASES, isTerminal, type Phase } from '../phases.ts';
import { createSupervisor } from '../supervisor.ts';
import defaultChart from './default-chart.json' with { type: 'json' };
import type { Chart } from './protocol.ts';
import { Refused } from './refused.ts';

type Transitions = ReadonlyMap<Phase, readonly Phase[]>;
export type Direction = 'right' | 'down';

// Beyond that nobody sees anything, and the layout takes its time.
const PHASES_LIMIT = 60;
const TRANSITIONS_LIMIT = 200;
const KEPT = 50;

/** Charts of tables, each laid out once. */
export class Charts {
  readonly #charts = new Map<string, Promise<Chart>>();

  /**
   * @param transitions Where each phase leads, as the run has told it; `null` for the default table.
   * @throws {Refused} (rejects) for a table that is none or too large, and where elkjs is not installed.
   */
  async of(transitions: Transitions | null, direction: Direction): Promise<Chart> {
    if (transitions === null) return (defaultChart as Record<Direction, Chart>)[direction];
    const name = JSON.stringify([direction, ...transitions]);
    const chart = this.#charts.get(name) ?? drawn(transitions, direction);
    this.#charts.set(name, chart);
    const [oldest = name] = this.#charts.keys();
    if (this.#charts.size > KEPT) this.#charts.delete(oldest);
    return chart;
  }
}

async function drawn(transitions: Transitions, direction: Direction): Promise<Chart> {
  const edges = [...transitions].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));
  if (transitions.size > PHASES_LIMIT || edges.length > TRANSITIONS_LIMIT) {
    throw new Refused(
      422,
      'table-too-large',
      `A chart shows up to ${PHASES_LIMIT} phases and ${TRANSITIONS_LIMIT} transitions`,
    );
  }
  const added = [...transitions.keys()].filter(
    (phase) => !(DEFAULT_PHASES as readonly Phase[]).includes(phase),
  );
  try {
    return await chartOf(added, edges, direction);
  } catch (error) {
    if (error instanceof PhasegateError) throw new Refused(422, error.code, error.message);
    throw error;
  }
}

/** Lays a table out. What its arrows say of budgets is left out: runs of one table may have different ones. */
export async function chartOf(
  phases: readonly Phase[],
  transitions: readonly (readonly [Phase, Phase])[] | undefined,
  direction: Direction,
): Promise<Chart> {
  const { rules } = createSupervisor({ phases, transitions });
  const picture = pictureOf(rules);
  const arrows = picture.arrows.map((arrow) => {
    const label =
      arrow.from !== arrow.to ? arrow.label : arrow.to === 'ACTING' ? ['nested call or retry'] : [];
    return { ...arrow, label };
  });
  const layout = await layOut({ ...picture, arrows }, direction);
  return {
    width: layout.width,
    height: layout.height,
    live: layout.live,
    start: layout.start,
    startArrow: layout.startArrow,
    states: [...layout.phases].map(([phase, box]) => ({ phase, terminal: isTerminal(phase), ...box })),
    edges: arrows.map(({ from, to, legal, label }, index) => {
      const { points = [], label: labelBox = null } = layout.arrows[index] ?? {};
      return { from, to, legal, points, label, labelBox };
    }),
  };
}

import { invalidArgument } from '../errors.ts';
import type { Supervisor } from '../supervisor.ts';
import { type Layout, layOut } from './layout.ts';
import { inWords, legendOf } from './legend.ts';
import { type Arrow, type PicturedPhase, pictureOf } from './picture.ts';
import { arrow, type Box, escaped, rect, round, text } from './shapes.ts';
import { LABEL } from './text.ts';
import { styleSheet, THEMES, type Theme } from './theme.ts';

/** How an SVG is drawn. */
export interface SvgOptions {
  /**
   * Its colours: those that the reader's system prefers, or always the same.
   * @default 'auto'
   */
  readonly theme?: Theme | undefined;
}

// More phases than that side by side are wider than a page.
const MOST_SIDE_BY_SIDE = 9;

/**
 * The phases of a supervisor as an SVG: the transitions of the table, what happens without being proposed (nested calls,
 * the end of a call, the end of the run), and both budgets. The same supervisor gives the same bytes.
 *
 * It is laid out by elkjs, an optional dependency, here and now: nothing is sent anywhere.
 *
 * @returns The text of a file; its last line ends too.
 * @throws {PhasegateError} (rejects) `missing-dependency` where elkjs is not installed; `invalid-argument`.
 * @example await writeFile('phases.svg', await toSvg(createSupervisor({ maxSteps: 20 })));
 */
export async function toSvg(supervisor: Supervisor, { theme = 'auto' }: SvgOptions = {}): Promise<string> {
  if (!THEMES.includes(theme)) {
    throw invalidArgument('theme', THEMES.map((name) => `'${name}'`).join(' or '), theme);
  }
  const { rules, hash } = supervisor;
  const picture = pictureOf(rules);
  const layout = await layOut(picture, picture.phases.length > MOST_SIDE_BY_SIDE ? 'down' : 'right');
  const legend = legendOf(rules, picture);
  const width = Math.max(layout.width, legend.width);
  const height = layout.height + legend.height;
  const id = `phasegate-${hash}`;
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
      `class="pg-${theme}" role="img" aria-labelledby="${id}-title ${id}-desc">`,
    `<title id="${id}-title">Phases of an agent run</title>`,
    `<desc id="${id}-desc">${escaped(inWords(rules, picture))}</desc>`,
    `<style>${styleSheet(theme)}</style>`,
    rect({ x: 0, y: 0, width, height }, 10, 'pg-page'),
    rect(layout.live, 10, 'pg-live'),
    text(layout.live.x + 16, layout.live.y + 24, 'live: the run goes on', 'pg-label'),
    drawStart(layout),
    ...picture.phases.map((phase) => drawPhase(phase, layout.phases.get(phase.name) as Box)),
    ...picture.arrows.map((way, index) => drawArrow(way, layout.arrows[index] as Layout['arrows'][number])),
    ...legend.draw(layout.height),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

function drawPhase({ name, terminal, rank }: PicturedPhase, at: Box): string {
  const className = rank === Number.POSITIVE_INFINITY ? 'pg-phase pg-unreached' : 'pg-phase';
  const inner = { x: at.x + 4, y: at.y + 4, width: at.width - 8, height: at.height - 8 };
  const outline = terminal ? rect(at, 12) + rect(inner, 8) : rect(at, 8);
  const label = text(at.x + at.width / 2, at.y + at.height / 2 + 5, name, 'pg-name');
  return `<g class="${className}">${outline}${label}</g>`;
}

function drawStart({ start, startArrow }: Layout): string {
  const radius = start.width / 2;
  const dot = `<circle class="pg-dot" cx="${round(start.x + radius)}" cy="${round(start.y + radius)}" r="${radius}"/>`;
  return dot + arrow(startArrow, 'pg-arrow');
}

function drawArrow({ legal, label }: Arrow, { points, label: at }: Layout['arrows'][number]): string {
  const lines = at === undefined ? [] : label;
  return [
    arrow(points, legal ? 'pg-arrow' : 'pg-arrow pg-set'),
    ...lines.map((line, index) => {
      const box = at as Box;
      return text(box.x + box.width / 2, box.y + 12 + index * LABEL.lineHeight, line, 'pg-label pg-centred');
    }),
  ].join('');
}

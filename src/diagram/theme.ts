import { LABEL, PHASE } from './text.ts';

/** `auto` follows what the reader's system prefers. */
export type Theme = 'auto' | 'light' | 'dark';

export const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

interface Colours {
  readonly page: string;
  readonly live: string;
  readonly liveEdge: string;
  readonly phase: string;
  readonly phaseEdge: string;
  readonly ink: string;
  readonly label: string;
  readonly arrow: string;
}

export const LIGHT: Colours = {
  page: '#ffffff',
  live: '#f4f7fb',
  liveEdge: '#c3cfdd',
  phase: '#ffffff',
  phaseEdge: '#33618f',
  ink: '#14202e',
  label: '#44566a',
  arrow: '#33618f',
};

export const DARK: Colours = {
  page: '#0f151c',
  live: '#161f29',
  liveEdge: '#33455a',
  phase: '#1d2935',
  phaseEdge: '#7fb2e5',
  ink: '#edf3f9',
  label: '#b4c4d4',
  arrow: '#7fb2e5',
};

/** The style sheet of a diagram. Its classes have a prefix of their own, as it may come to stand inside a page. */
export function styleSheet(theme: Theme): string {
  const scope = `.pg-${theme}`;
  const shapes = [
    `${scope} .pg-name{font:600 ${PHASE.size}px ${PHASE.family};text-anchor:middle}`,
    `${scope} .pg-label{font:${LABEL.size}px ${LABEL.family}}`,
    `${scope} .pg-centred{text-anchor:middle}`,
    `${scope} .pg-phase rect{stroke-width:1.5px}`,
    `${scope} .pg-unreached rect{stroke-dasharray:2 4}`,
    `${scope} .pg-arrow{fill:none;stroke-width:1.5px}`,
    `${scope} .pg-set{stroke-dasharray:5 4}`,
  ].join('');
  const colours = theme === 'dark' ? DARK : LIGHT;
  const dark = theme === 'auto' ? `@media (prefers-color-scheme:dark){${coloured(scope, DARK)}}` : '';
  return shapes + coloured(scope, colours) + dark;
}

function coloured(scope: string, colours: Colours): string {
  return [
    `${scope} .pg-page{fill:${colours.page}}`,
    `${scope} .pg-live{fill:${colours.live};stroke:${colours.liveEdge}}`,
    `${scope} .pg-phase rect{fill:${colours.phase};stroke:${colours.phaseEdge}}`,
    `${scope} .pg-unreached rect{stroke:${colours.label}}`,
    `${scope} .pg-name{fill:${colours.ink}}`,
    `${scope} .pg-unreached .pg-name{fill:${colours.label}}`,
    `${scope} .pg-label{fill:${colours.label}}`,
    `${scope} .pg-arrow{stroke:${colours.arrow}}`,
    `${scope} .pg-head,${scope} .pg-dot{fill:${colours.arrow}}`,
  ].join('');
}

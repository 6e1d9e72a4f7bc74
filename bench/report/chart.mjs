// @ts-check
import { duration } from './units.mjs';

/** @typedef {Pick<import('./peers.mjs').PeerRow, 'name' | 'note' | 'ns' | 'own'>} Bar */

const WIDTH = 860;
const LEFT = 396;
const RIGHT = 96;
const TOP = 96;
const ROW = 46;
// Letters of the caption that a line of it holds.
const LINE = 118;
const SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

/** @typedef {Record<'page' | 'ink' | 'muted' | 'line' | 'own' | 'other', string>} Colours */

/** @type {Colours} */
const LIGHT = {
  page: '#ffffff',
  ink: '#14202e',
  muted: '#5b6b7c',
  line: '#dbe3ec',
  own: '#1f6feb',
  other: '#8b9db0',
};

/** @type {Colours} */
const DARK = {
  page: '#0f151c',
  ink: '#edf3f9',
  muted: '#9fb0c1',
  line: '#263442',
  own: '#7fb2e5',
  other: '#65798d',
};

/**
 * How long a call takes in each of the ways, as an SVG: a dot for each on a scale on which every step is ten times the one
 * before. Dots and no bars, as such a scale has no zero for a bar to begin at.
 *
 * @param {{ rows: readonly Bar[], caption: string, inWords: string }} what
 */
export function chart({ rows, caption, inWords }) {
  const times = rows.map(({ ns }) => {
    if (!(ns > 0 && ns < Number.POSITIVE_INFINITY)) throw new Error(`No time to draw: ${ns}`);
    return Math.log10(ns);
  });
  const from = Math.floor(Math.min(...times));
  const to = Math.max(from + 1, Math.ceil(Math.max(...times)));
  const bottom = TOP + rows.length * ROW;
  const said = wrapped(`${caption}.`);
  const height = bottom + 28 + said.length * 16;
  /** @param {number} ns */
  const x = (ns) => round(LEFT + ((Math.log10(ns) - from) / (to - from)) * (WIDTH - LEFT - RIGHT));
  const decades = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" ` +
      `class="pgc" role="img" aria-labelledby="pgc-title pgc-desc">`,
    '<title id="pgc-title">One tool call, and what stands around it</title>',
    `<desc id="pgc-desc">${escaped(inWords)}</desc>`,
    `<style>${styleSheet()}</style>`,
    `<rect class="pgc-page" width="${WIDTH}" height="${height}" rx="10"/>`,
    text(24, 36, 'pgc-title', 'One tool call, and what stands around it'),
    text(24, 58, 'pgc-note', 'Median time per call. Each line of the scale is ten times the one before.'),
    ...decades.map(
      (ns) =>
        `<path class="pgc-grid" d="M${x(ns)} ${TOP - 8}V${bottom}"/>` +
        text(x(ns), TOP - 14, 'pgc-note pgc-middle', duration(ns)),
    ),
    ...rows.map((row, index) => drawn(row, TOP + index * ROW + ROW / 2, x(row.ns))),
    ...said.map((line, index) => text(24, bottom + 28 + index * 16, 'pgc-small', line)),
    '</svg>',
  ];
  return `${lines.join('\n')}\n`;
}

/** @param {Bar} row @param {number} y @param {number} x */
function drawn({ name, note, ns, own }, y, x) {
  const kind = own ? 'pgc-own' : 'pgc-other';
  const strong = own ? ' pgc-strong' : '';
  return [
    text(24, y - 3, `pgc-name${strong}`, name),
    text(24, y + 14, 'pgc-note', note),
    `<path class="${kind}-stem" d="M${LEFT} ${y}H${x}"/>`,
    `<circle class="${kind}-dot" cx="${x}" cy="${y}" r="${own ? 7 : 6}"/>`,
    text(x + 14, y + 5, `pgc-value${strong}`, duration(ns)),
  ].join('');
}

// Every selector is one class, so that the order alone decides.
function styleSheet() {
  return [
    `.pgc{font-family:${SANS}}`,
    '.pgc-title{font-size:18px;font-weight:650}',
    '.pgc-name{font-size:14px;font-weight:550}',
    '.pgc-note{font-size:12px}',
    '.pgc-small{font-size:11px}',
    '.pgc-value{font-size:13px;font-weight:600;font-variant-numeric:tabular-nums}',
    '.pgc-value{paint-order:stroke;stroke-width:6px;stroke-linejoin:round}',
    '.pgc-middle{text-anchor:middle}',
    '.pgc-own-stem,.pgc-other-stem{stroke-width:2px;fill:none}',
    '.pgc-other-stem{stroke-opacity:.45}',
    '.pgc-strong{font-weight:750}',
    coloured(LIGHT),
    `@media (prefers-color-scheme:dark){${coloured(DARK)}}`,
  ].join('');
}

/** @param {Colours} colours */
function coloured({ page, ink, muted, line, own, other }) {
  return [
    `.pgc-page{fill:${page}}`,
    `.pgc-title,.pgc-name,.pgc-value{fill:${ink}}`,
    `.pgc-value{stroke:${page}}`,
    `.pgc-note,.pgc-small{fill:${muted}}`,
    `.pgc-grid{stroke:${line}}`,
    `.pgc-other-dot{fill:${other}}.pgc-other-stem{stroke:${other}}`,
    `.pgc-own-dot{fill:${own}}.pgc-own-stem{stroke:${own}}`,
    `.pgc-strong{fill:${own}}`,
  ].join('');
}

/** @param {number} x @param {number} y @param {string} className @param {string} said */
function text(x, y, className, said) {
  return `<text class="${className}" x="${round(x)}" y="${round(y)}">${escaped(said)}</text>`;
}

/** A sentence in lines of whole words. @param {string} said @returns {string[]} */
function wrapped(said) {
  return said.split(' ').reduce((/** @type {string[]} */ lines, word) => {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined || longer.length > LINE) lines.push(word);
    else lines[lines.length - 1] = longer;
    return lines;
  }, []);
}

/** @param {string} said */
function escaped(said) {
  return said.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** @param {number} value */
function round(value) {
  return Math.round(value * 10) / 10;
}

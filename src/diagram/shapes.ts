export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

const HEAD = { length: 9, halfWidth: 4 };
const CORNER = 6;

/** A line of text. */
export function text(x: number, y: number, said: string, className: string): string {
  return `<text class="${className}" x="${round(x)}" y="${round(y)}">${escaped(said)}</text>`;
}

/** A box with round corners. */
export function rect({ x, y, width, height }: Box, radius: number, className?: string): string {
  const named = className === undefined ? '' : `class="${className}" `;
  return `<rect ${named}x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"/>`;
}

/** A way with an arrow's head at its end. */
export function arrow(points: readonly Point[], className: string): string {
  const { line, head } = arrowOf(points);
  return line === '' ? '' : `<path class="${className}" d="${line}"/><path class="pg-head" d="${head}"/>`;
}

/** The paths of a way and of the arrow's head at its end; both empty where there is no way. */
export function arrowOf(points: readonly Point[]): { readonly line: string; readonly head: string } {
  const end = points.at(-1);
  const before = points.at(-2);
  if (end === undefined || before === undefined) return { line: '', head: '' };
  const base = towards(end, before, HEAD.length);
  const along = { x: (end.x - base.x) / HEAD.length, y: (end.y - base.y) / HEAD.length };
  const corner = (side: number) => ({ x: base.x + side * along.y, y: base.y - side * along.x });
  const head = [end, corner(HEAD.halfWidth), corner(-HEAD.halfWidth)];
  return { line: pathOf([...points.slice(0, -1), base]), head: `M${head.map(pair).join('L')}Z` };
}

/** Text as it may stand inside of an element, or of an attribute. */
export function escaped(said: string): string {
  return said.replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);
}

/** A number as it is written into an SVG: nobody sees more of it. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function pathOf(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const before = points[index - 1];
      const after = points[index + 1];
      if (before === undefined) return `M${pair(point)}`;
      if (after === undefined) return `L${pair(point)}`;
      const cut = (other: Point) => towards(point, other, Math.min(CORNER, distance(point, other) / 2));
      return `L${pair(cut(before))}Q${pair(point)} ${pair(cut(after))}`;
    })
    .join('');
}

function towards(from: Point, to: Point, length: number): Point {
  const share = length / (distance(from, to) || 1);
  return { x: from.x + (to.x - from.x) * share, y: from.y + (to.y - from.y) * share };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

function pair({ x, y }: Point): string {
  return `${round(x)} ${round(y)}`;
}

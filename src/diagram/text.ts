/** How some text is written. */
export interface TextStyle {
  readonly family: string;
  readonly size: number;
  readonly lineHeight: number;
  /** The widest that a letter is on average in the fonts of the family, in units of the size. */
  readonly letter: number;
}

/** The names of phases. */
export const PHASE: TextStyle = {
  family: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  size: 14,
  lineHeight: 18,
  letter: 0.61,
};

/** All else. */
export const LABEL: TextStyle = {
  family: "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif",
  size: 12,
  lineHeight: 16,
  letter: 0.6,
};

/** How wide a text gets at most: there is no font to measure it with. */
export function widthOf(text: string, { size, letter }: TextStyle): number {
  return Math.ceil(text.length * size * letter);
}

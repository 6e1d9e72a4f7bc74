// States are told by shape and by word; the colour only helps.
const PATHS = {
  live: 'M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5ZM8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13Z',
  ended: 'M2.5 8.5 6.5 12.5 13.5 4',
  aborted: 'M3.5 3.5h9v9h-9Z',
  refused: 'M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13ZM3.5 3.5l9 9',
  failed: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
  waiting: 'M4 1.5h8M4 14.5h8M4.5 1.5c0 4 7 5 7 13M11.5 1.5c0 4-7 5-7 13',
  'to-come': 'M8 7a1 1 0 1 0 0 2 1 1 0 0 0 0-2Z',
  running: 'M5 3v10l7-5Z',
  branch: 'M4 1.5v7a3 3 0 0 0 3 3h6M10 8.5l3 3-3 3',
  back: 'M10 3 5 8l5 5',
  first: 'M12 3 7 8l5 5M4 3v10',
  previous: 'M10 3 5 8l5 5',
  next: 'M6 3l5 5-5 5',
  last: 'M4 3l5 5-5 5M12 3v10',
  play: 'M5 3v10l8-5Z',
  pause: 'M5.5 3v10M10.5 3v10',
  auto: 'M8 1.5a6.5 6.5 0 1 0 0 13ZM8 1.5a6.5 6.5 0 0 1 0 13',
  light:
    'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13.5 10A6 6 0 0 1 6 2.5a6 6 0 1 0 7.5 7.5Z',
  warning: 'M8 2 1.5 13.5h13ZM8 6.5v3.5M8 12v.1',
} as const;

export type GlyphName = keyof typeof PATHS;

/** A small sign. It says nothing to who cannot see it: the word stands beside it. */
export function Glyph({ name }: { readonly name: GlyphName }) {
  return (
    <svg class={`glyph glyph-${name}`} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

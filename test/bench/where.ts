/** Where the figures of these tests come from: nowhere. */
export const WHERE = {
  phasegate: '1.2.3',
  node: 'v20.0.0',
  cpu: 'A <CPU> & more',
  cores: 2,
  date: '2026-01-02',
  quick: false,
};

/** What the keys do, for people. docs/inspect.md has the same table. */
export const KEYS: readonly (readonly [keys: readonly string[], does: string])[] = [
  [['←', '→'], 'one event back or on'],
  [['Home', 'End'], 'to the first or the last event; in a list: to its first or last row'],
  [['Space'], 'play, and pause'],
  [['L'], 'follow what comes, or stay'],
  [['↑', '↓'], 'in a list: one row up or down'],
  [['Enter'], 'in the list of runs: open the run'],
  [['+', '−', '0'], 'in the timeline: less time, more time, the whole run'],
  [['<', '>'], 'in the timeline: earlier, later'],
  [['/'], 'find runs'],
  [['T'], 'colours: as the system has them, light, dark'],
  [['?'], 'these keys'],
];

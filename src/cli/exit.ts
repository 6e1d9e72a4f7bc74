/** How a command ends. */
export const EXIT = {
  /** All runs are allowed. */
  ok: 0,
  /** Some runs are refused. */
  refused: 1,
  /** The command was used wrongly, or some input could not be read. */
  usage: 2,
  /** A fault of phasegate itself. */
  fault: 70,
  /** The user interrupted it. */
  interrupted: 130,
} as const;

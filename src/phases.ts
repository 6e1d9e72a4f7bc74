/** The seven phases that every table has, in the order of declaration (SPEC §1.1). */
export const DEFAULT_PHASES = [
  'IDLE',
  'PLANNING',
  'ACTING',
  'OBSERVING',
  'ANSWERING',
  'REJECTED',
  'EXHAUSTED',
] as const;

/** One of the seven phases that every table has. */
export type DefaultPhase = (typeof DEFAULT_PHASES)[number];

/** A phase's name: one of the seven, or one of the user's, which match {@link PHASE_NAME} (SPEC §1.3). */
export type Phase = DefaultPhase | (string & {});

/** A legal transition: from one phase to another, or to itself (SPEC §1). */
export type Transition = readonly [from: Phase, to: Phase];

/** What a phase's name looks like (SPEC §1.3). */
export const PHASE_NAME = /^[A-Z][A-Z0-9_]*$/;

/** The default table: exactly the edges that the rules draw (SPEC §1.2). */
export const DEFAULT_TRANSITIONS: readonly Transition[] = [
  ['IDLE', 'PLANNING'],
  ['PLANNING', 'ACTING'],
  ['PLANNING', 'ANSWERING'],
  ['ACTING', 'OBSERVING'],
  ['OBSERVING', 'PLANNING'],
  ['OBSERVING', 'ANSWERING'],
];

/**
 * Whether a run that is in this phase has ended: ANSWERING, REJECTED and EXHAUSTED (SPEC §1.1). A phase of the
 * user's is never terminal.
 */
export function isTerminal(phase: Phase): boolean {
  return phase === 'ANSWERING' || phase === 'REJECTED' || phase === 'EXHAUSTED';
}

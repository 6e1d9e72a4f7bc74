/** An event that was looked at: these two are what they should be, and nothing in it is larger than it may be. */
export type TidyEvent = { readonly type: string; readonly run: string | null } & Readonly<
  Record<string, unknown>
>;

const NAME = 500;
const WORDS = 4_000;
const DATA = 16_000;
// Of a table that is cut nothing is known, and the default one would be shown in its place.
const TABLE = 200_000;

// What is shown of events, and how many characters of it are kept. Events may be of any size and hold anything.
const FIELDS = new Map([
  ...['type', 'run', 'time', 'parent', 'call', 'seq', 'tool', 'from', 'phase'].map(limitedTo(NAME)),
  ...['ok', 'late', 'interrupted', 'allowed', 'dfa', 'budget', 'target', 'code', 'stage'].map(
    limitedTo(NAME),
  ),
  ...['waitedMs', 'decisionMs', 'stepCount', 'loopCount', 'maxSteps', 'maxLoopsPerPhase'].map(
    limitedTo(NAME),
  ),
  ...['message', 'reason', 'error'].map(limitedTo(WORDS)),
  ...['args', 'result', 'resumed'].map(limitedTo(DATA)),
  ...['transitions'].map(limitedTo(TABLE)),
]);

/**
 * What is kept of an event that came as JSON, itself where that is all of it; `undefined` if it is none: an object with a type,
 * and a run or `null`.
 */
export function tidyEvent(value: unknown): TidyEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, run } = value as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || (typeof run !== 'string' && run !== null)) return undefined;
  if (isTidy(value)) return value as TidyEvent;
  const kept = Object.entries(value).flatMap(([name, field]) => {
    const limit = FIELDS.get(name);
    return limit === undefined ? [] : [[name, limited(field, limit)] as const];
  });
  return Object.fromEntries(kept) as TidyEvent;
}

// As almost all are.
function isTidy(event: object): boolean {
  for (const name in event) {
    const limit = FIELDS.get(name);
    const field: unknown = event[name as keyof typeof event];
    if (limit === undefined || (typeof field === 'object' && field !== null)) return false;
    if (typeof field === 'string' && field.length > limit) return false;
  }
  return true;
}

function limited(value: unknown, limit: number): unknown {
  if (typeof value === 'string') return cut(value, limit);
  if (typeof value !== 'object' || value === null) return value;
  try {
    const text = JSON.stringify(value);
    return text.length <= limit ? value : cut(text, limit);
  } catch {
    // It nests deeper than a stack reaches.
    return '…';
  }
}

function cut(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
}

function limitedTo(limit: number): (name: string) => readonly [string, number] {
  return (name) => [name, limit];
}

/** An event that was looked at: these two are what they should be, and nothing in it is larger than it may be. */
export type TidyEvent = { readonly type: string; readonly run: string | null } & Readonly<
  Record<string, unknown>
>;

const NAME = 500;
const WORDS = 4_000;
const DATA = 16_000;

// What is shown of events, and how many characters of it are kept. Events may be of any size and hold anything.
const FIELDS = new Map([
  ...['type', 'run', 'time', 'parent', 'call', 'seq', 'tool', 'from', 'phase'].map(limitedTo(NAME)),
  ...['ok', 'late', 'allowed', 'dfa', 'budget', 'target', 'code', 'stage'].map(limitedTo(NAME)),
  ...['waitedMs', 'decisionMs', 'stepCount', 'loopCount', 'maxSteps', 'maxLoopsPerPhase'].map(
    limitedTo(NAME),
  ),
  ...['message', 'reason', 'error'].map(limitedTo(WORDS)),
  ...['args', 'result', 'transitions'].map(limitedTo(DATA)),
]);

/** What is kept of an event that came as JSON; `undefined` if it is none: an object with a type, and a run or `null`. */
export function tidyEvent(value: unknown): TidyEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { type, run } = value as Readonly<Record<string, unknown>>;
  if (typeof type !== 'string' || (typeof run !== 'string' && run !== null)) return undefined;
  const kept = Object.entries(value).flatMap(([name, field]) => {
    const limit = FIELDS.get(name);
    return limit === undefined ? [] : [[name, limited(field, limit)] as const];
  });
  return Object.fromEntries(kept) as TidyEvent;
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

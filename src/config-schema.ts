import * as v from 'valibot';
import { describe } from './describe.ts';
import { PHASE_NAME } from './phases.ts';

// Made when a configuration is first read: most programs never do.
let made: ReturnType<typeof makeSchema> | undefined;

/** What a configuration holds, in camel case. The checks of a configuration and its JSON Schema are made from it. */
export function configSchema() {
  made ??= makeSchema();
  return made;
}

function makeSchema() {
  return mapping({
    $schema: v.optional(v.pipe(text(), v.description('The schema that this file follows, for editors.'))),
    agentProfile: v.optional(
      mapping({
        resourceBudget: v.optional(
          mapping({
            maxSteps: budget('How many tool calls of a run may end well.', 50),
            maxLoopsPerPhase: budget(
              'How many self-loops a phase may have before it is left: nested calls, and retries after a failure.',
              3,
            ),
          }),
        ),
      }),
    ),
    enabledChecks: list(
      'Which checks run, in this order. Without "dfa" no budget and no table is enforced.',
      text(),
    ),
    dfa: v.optional(
      mapping({
        phases: list('Phases besides the seven, each as in REVIEWING.', phase()),
        addTransitions: list('Transitions to make legal, each as [FROM, TO].', edge()),
        removeTransitions: list('Transitions to make illegal, each as [FROM, TO].', edge()),
        onToolError: choice('Where a failed call leaves the run.', 'hold', 'observe'),
        onBudgetExhausted: choice(
          'Whether a run that is refused for a budget ends, in EXHAUSTED.',
          'deny',
          'terminate',
        ),
        onRejected: choice('Whether a run that a check refused ends, in REJECTED.', 'deny', 'terminate'),
        parallel: choice(
          'What a top-level call does that comes while others run.',
          'serialize',
          'concurrent',
        ),
      }),
    ),
  });
}

// To valibot an array is an object too, so that comes first.
function mapping<const T extends v.ObjectEntries>(entries: T) {
  return v.pipe(v.custom<object>(isMapping, mustBe('a mapping of keys to values')), v.strictObject(entries));
}

export function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function list<T extends v.GenericSchema>(description: string, item: T) {
  return v.optional(v.pipe(v.array(item, mustBe('a list')), v.description(description)));
}

function text() {
  return v.string(mustBe('a text'));
}

function phase() {
  return v.pipe(
    text(),
    v.regex(PHASE_NAME, mustBe(`the name of a phase, ${PHASE_NAME.source} (as in REVIEWING)`)),
  );
}

// That a name is missing is said before the names are looked at: else it were said of the missing one that it is no text.
function edge() {
  const pair = 'a pair [FROM, TO]';
  return v.pipe(
    v.array(v.unknown(), mustBe(pair)),
    v.minLength(2, `must be ${pair}`),
    v.strictTuple([phase(), phase()], `must be ${pair}`),
  );
}

function choice<const T extends string>(description: string, fallback: T, other: T) {
  const values = [fallback, other];
  return v.optional(
    v.pipe(
      v.picklist(values, mustBe(values.map(describe).join(' or '))),
      v.metadata({ default: fallback, description }),
    ),
  );
}

function budget(description: string, fallback: number) {
  return v.optional(
    v.pipe(
      v.custom<number>(
        (value) =>
          value === Number.POSITIVE_INFINITY || (Number.isSafeInteger(value) && (value as number) >= 0),
        mustBe('a whole number of 0 or more'),
      ),
      // What JSON can say of it: it knows no infinity.
      v.metadata({
        type: 'integer',
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        default: fallback,
        description,
      }),
    ),
  );
}

function mustBe(expected: string) {
  return ({ input }: v.BaseIssue<unknown>) => `must be ${expected}, got ${describe(input)}`;
}

/** The keys of a mapping, with the schema of each; `undefined` where the schema is of anything else. */
export function entriesOf(schema: v.GenericSchema): Readonly<Record<string, v.GenericSchema>> | undefined {
  const { wrapped = schema } = schema as { wrapped?: v.GenericSchema };
  const { pipe = [wrapped] } = wrapped as { pipe?: readonly v.GenericSchema[] };
  return (pipe.at(-1) as { entries?: Record<string, v.GenericSchema> }).entries;
}

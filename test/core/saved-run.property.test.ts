import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Enforcement,
  PhasegateError,
  Refusal,
  type Run,
  type SavedRun,
  SavedRunError,
} from '../../src/index.ts';
import {
  among,
  enforcementOf,
  KEY,
  type Op,
  ops,
  perform,
  pick,
  resumed,
  setting,
  stored,
} from './saved-runs.ts';

function where(run: Run) {
  const calls = run.callsInFlight.map(({ id, seq }) => [id, seq]);
  return [run.id, run.parent?.id, run.depth, run.state, run.validateActionPhase(), calls];
}

function actorOf(run: Run) {
  const { value, status, context } = run.actor.getSnapshot();
  return [value, status, context];
}

/** Both do the same from here on, and must come to the same. */
function agree(a: [Enforcement, Run[]], b: [Enforcement, Run[]], rest: readonly Op[], actors: boolean) {
  const look = (runs: Run[]) => runs.map((run) => [where(run), actors ? actorOf(run) : null]);
  expect(look(b[1])).toEqual(look(a[1]));
  for (const op of rest) {
    expect(perform(b[0], b[1], op)).toBe(perform(a[0], a[1], op));
    expect(look(b[1])).toEqual(look(a[1]));
  }
}

describe('SPEC §11: whatever runs do, and whenever they are saved', { timeout: 60_000 }, () => {
  test('a resumed run does what it would have done, as do the runs inside of it', () => {
    fc.assert(
      fc.property(setting, ops, ops, fc.boolean(), (setting, before, after, actors) => {
        const [here, there] = [enforcementOf(setting), enforcementOf(setting)];
        const runs: Run[] = [here.beginRun({ id: 'r0' })];
        for (const op of before) perform(here, runs, op);

        const back = resumed(there, runs);

        agree([here, runs], [there, back], after, actors);
      }),
      { numRuns: 300 },
    );
  });

  test('what was interrupted is as if it had ended well', () => {
    fc.assert(
      fc.property(
        setting,
        ops,
        ops,
        fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
        (setting, before, after, interrupts) => {
          const [here, there] = [enforcementOf(setting), enforcementOf(setting)];
          const runs: Run[] = [here.beginRun({ id: 'r0' })];
          for (const op of before) perform(here, runs, op);
          const back = resumed(there, runs, (index) => interrupts[index] === true);

          runs.forEach((run, index) => {
            const gone = back[index]?.interrupted ?? [];
            expect(gone).toHaveLength(interrupts[index] ? run.callsInFlight.length : 0);
            if (interrupts[index]) for (const call of [...run.callsInFlight].reverse()) run.afterCall(call);
          });
          agree([here, runs], [there, back], after, true);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('however often processes die, no more calls take effect than the step budget allows', () => {
    const life = fc.record({ ops, withChildren: fc.boolean() });
    fc.assert(
      fc.property(fc.nat(12), fc.array(life, { minLength: 1, maxLength: 4 }), (maxSteps, lives) => {
        const options = { maxSteps, maxLoopsPerPhase: 3 };
        let runs: Run[] = [enforcementOf({ options, dfa: true }).beginRun({ id: 'r0' })];
        let effects = 0;
        for (const { ops, withChildren } of lives) {
          const enforcement = enforcementOf({ options, dfa: true });
          for (const op of ops) {
            // What ends well has taken effect.
            if (op.do === 'end' && op.ok && among(runs, op.run)?.callsInFlight.length) effects += 1;
            perform(enforcement, runs, op.do === 'begin' ? { ...op, budget: 'shared' } : op);
          }
          // So may have what was in flight when the process dies.
          for (const run of runs) effects += run.callsInFlight.length;
          expect(effects).toBeLessThanOrEqual(maxSteps);
          // The agent goes on with all of its child runs, or with none.
          runs = resumed(enforcement, withChildren ? runs : runs.slice(0, 1), () => true);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Something else at some place of a saved run: another value, one less, or one more. */
const mutation = fc.record({
  place: fc.nat(),
  how: fc.constantFrom('replace' as const, 'replace' as const, 'remove' as const, 'add' as const),
  key: fc.constantFrom('extra', 'ACTING', 'PLANNING', '__proto__', 'signature', 'state'),
  value: fc.oneof(
    fc.integer({ min: -3, max: 12 }),
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      '',
      'ACTING',
      'OBSERVING',
      'ANSWERING',
      1e308,
      2 ** 53,
      0.5,
      [],
      {},
    ),
    fc.jsonValue({ maxDepth: 2 }),
  ),
});

type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutated(saved: SavedRun, mutations: readonly Mutation[]): unknown {
  const copy: unknown = stored(saved);
  for (const { place, how, key, value } of mutations) {
    const places: [Record<string, unknown>, string][] = [];
    const collect = (holder: unknown) => {
      if (typeof holder !== 'object' || holder === null) return;
      for (const name of Object.keys(holder)) {
        places.push([holder as Record<string, unknown>, name]);
        collect((holder as Record<string, unknown>)[name]);
      }
    };
    collect(copy);
    const [holder, name] = among(places, place) ?? [];
    if (holder === undefined || name === undefined) continue;
    if (how === 'replace') holder[name] = value;
    else if (how === 'remove') Array.isArray(holder) ? holder.splice(Number(name), 1) : delete holder[name];
    else Object.defineProperty(holder, key, { value, enumerable: true, configurable: true, writable: true });
  }
  return JSON.parse(JSON.stringify(copy));
}

/** A run as it may be saved, and an enforcement to resume it in. */
function anySaved(maxSteps: number, before: readonly Op[], which: number, key?: string) {
  const enforcement = enforcementOf({ options: { maxSteps, maxLoopsPerPhase: 3 }, dfa: true });
  const runs: Run[] = [enforcement.beginRun({ id: 'r0' })];
  for (const op of before) perform(enforcement, runs, op);
  const run = among(runs, which);
  if (run === undefined) throw new Error('there is one at least');
  const { parent } = run;
  return { enforcement, parent, saved: stored(run.save(key === undefined ? {} : { key })) };
}

describe('SPEC §11.1: whatever was changed in what was saved', { timeout: 60_000 }, () => {
  test('with a key it is refused', () => {
    fc.assert(
      fc.property(
        ops,
        pick,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        (before, which, mutations) => {
          const { enforcement, parent, saved } = anySaved(8, before, which, KEY);
          const other = mutated(saved, mutations);
          fc.pre(JSON.stringify(other) !== JSON.stringify(saved));

          expect(() => enforcement.resumeRun(other as SavedRun, { key: KEY, parent })).toThrow(SavedRunError);
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('without one it is refused, or is a run that can be, with no more budget than the rules allow', () => {
    let resumedOnes = 0;
    fc.assert(
      fc.property(
        ops,
        pick,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        fc.boolean(),
        (before, which, mutations, keep) => {
          const { enforcement, parent, saved } = anySaved(8, before, which);
          const other = mutated(saved, mutations) as SavedRun;
          const run = unlessRefused(() =>
            enforcement.resumeRun(other, { parent, inFlight: keep ? 'keep' : 'interrupt' }),
          );
          if (run === undefined) return;
          resumedOnes += 1;
          const { phase, stepCount, inFlight } = run.state;
          // It is what it says it is, and nothing that it does not say was made up.
          expect({ ...stored(run.save()), state: 0, calls: 0, parent: 0 }).toEqual({
            ...other,
            state: 0,
            calls: 0,
            parent: 0,
          });
          if (keep) expect(run.state).toEqual(other.state);
          else
            expect(stepCount).toBe(other.state.stepCount + (other.state.finished ? 0 : other.calls.length));
          let made = stepCount;
          if (phase === 'ACTING') for (const call of run.callsInFlight) run.afterCall(call);
          made += phase === 'ACTING' ? inFlight : 0;
          for (let i = 0; i < 20; i++) {
            const answer = run.admit('tool', {}, { parent: null });
            if (answer instanceof Refusal || answer instanceof Promise) break;
            run.afterCall(answer);
            made += 1;
          }
          expect(made).toBeLessThanOrEqual(8);
        },
      ),
      { numRuns: 2000 },
    );
    // Else the property says nothing of those.
    expect(resumedOnes).toBeGreaterThan(20);
  });

  test('what is no saved run is never one that begins', () => {
    const { enforcement } = anySaved(8, [], 0);
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (garbage) => {
          expect(() => enforcement.resumeRun(garbage as SavedRun)).toThrow(SavedRunError);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('cut anywhere, it is no JSON or no saved run', () => {
    const { enforcement, saved } = anySaved(8, [], 0);
    const text = JSON.stringify(saved);
    for (let length = 0; length < text.length; length++) {
      const cut = unlessRefused(() => enforcement.resumeRun(JSON.parse(text.slice(0, length))));
      expect(cut).toBe(undefined);
    }
  });
});

function unlessRefused(resume: () => Run): Run | undefined {
  try {
    return resume();
  } catch (error) {
    if (error instanceof PhasegateError) expect(error).toBeInstanceOf(SavedRunError);
    else expect(error).toBeInstanceOf(SyntaxError);
    return undefined;
  }
}

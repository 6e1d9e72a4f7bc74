import { describe, expect, test } from 'vitest';
import { createSupervisor, type Phase, type SupervisorOptions } from '../../src/index.ts';
import { type Property, type VerifyOptions, verify } from '../../src/verify/index.ts';

function property(id: string, options: SupervisorOptions, verifyOptions?: VerifyOptions): Property {
  const found = verify(createSupervisor(options), verifyOptions).properties.find(
    (candidate) => candidate.id === id,
  );
  if (found === undefined) throw new Error(`no property ${id}`);
  return found;
}

function without(from: Phase, to: Phase): Pick<SupervisorOptions, 'transitions'> {
  const supervisor = createSupervisor();
  supervisor.removeTransition(from, to);
  return { transitions: supervisor.transitions };
}

const events = ({ counterexample }: Property) => counterexample?.map(({ event }) => event);

describe('the default table', () => {
  const verification = verify(createSupervisor());

  test('has every property, in an order that stays the same', () => {
    expect(verification.holds).toBe(true);
    expect(verification.properties.map(({ id }) => id)).toEqual([
      'phases-reachable',
      'transitions-taken',
      'acting-reachable',
      'no-trap',
      'ends-are-final',
      'step-budget',
      'loop-budget',
      'rules-kept',
    ]);
  });

  test('warns that nothing leads into REJECTED and EXHAUSTED, and that this is the default', () => {
    const messages = verification.warnings.map(({ message }) => message);
    expect(messages[0]).toMatch(/^Nothing leads into REJECTED\. That is the default/);
    expect(messages[1]).toMatch(/^Nothing leads into EXHAUSTED\. That is the default/);
    const strict = createSupervisor({ onRejected: 'terminate', onBudgetExhausted: 'terminate' });
    expect(verify(strict).warnings.filter(({ id }) => id === 'no-way-into')).toEqual([]);
  });

  test('takes as many states under a large step budget as under a small one', () => {
    const large = verify(createSupervisor({ maxSteps: 1_000_000 }));
    expect(large.explored.states).toBe(verify(createSupervisor({ maxSteps: 3 })).explored.states);
    expect(large.properties).toEqual(verification.properties);
  });
});

describe('a fault is shown', () => {
  test('when ACTING cannot be reached once its loop budget is spent: by the shortest run that gets there', () => {
    const acting = property('acting-reachable', without('ACTING', 'OBSERVING'));
    expect(acting.details).toContain('ACTING: not once its loop budget is spent');
    const last = acting.counterexample?.at(-1)?.state;
    expect(last).toMatchObject({ phase: 'ACTING', loopCount: 3, inFlight: 0 });
  });

  test('when a phase has no way to ACTING', () => {
    const acting = property('acting-reachable', without('OBSERVING', 'PLANNING'));
    expect(acting.details).toContain('OBSERVING: not at all');
    expect(events(acting)).toEqual(['propose.PLANNING', 'propose.ACTING', 'propose.OBSERVING']);
  });

  test('when a phase cannot be reached, and its transitions are never taken', () => {
    const options: SupervisorOptions = {
      phases: ['REVIEWING'],
      transitions: [...createSupervisor().transitions, ['REVIEWING', 'PLANNING']],
    };
    expect(property('phases-reachable', options).details).toEqual(['REVIEWING cannot be reached']);
    expect(property('transitions-taken', options).details).toEqual(['REVIEWING -> PLANNING is never taken']);
  });

  test('when a phase is a trap', () => {
    const options: SupervisorOptions = {
      phases: ['WAITING'],
      transitions: [...createSupervisor().transitions, ['OBSERVING', 'WAITING']],
    };
    const trap = property('no-trap', options);
    expect(trap.details[0]).toMatch(/^WAITING cannot/);
    expect(events(trap)?.at(-1)).toBe('propose.WAITING');
  });

  test('when a budget leaves no room for what the table promises', () => {
    expect(property('phases-reachable', { maxSteps: 0 }).details).toContain('PLANNING cannot be reached');
  });
});

describe('a claim of the user', () => {
  test('that a transition is never taken holds, or a run takes it', () => {
    const options: VerifyOptions = {
      never: [
        ['IDLE', 'ACTING'],
        ['ACTING', 'OBSERVING'],
      ],
    };
    expect(property('never IDLE -> ACTING', {}, options).holds).toBe(true);
    const taken = property('never ACTING -> OBSERVING', {}, options);
    expect(taken.holds).toBe(false);
    expect(events(taken)).toHaveLength(3);
  });

  test('that ACTING is entered from OBSERVING through a phase holds, or a run goes around it', () => {
    const reviewed: SupervisorOptions = {
      phases: ['REVIEWING'],
      transitions: [
        ...createSupervisor().transitions.filter(
          ([from, to]) => !(from === 'OBSERVING' && to === 'PLANNING'),
        ),
        ['OBSERVING', 'REVIEWING'],
        ['REVIEWING', 'PLANNING'],
      ],
    };
    expect(property('always-via REVIEWING', reviewed, { alwaysVia: ['REVIEWING'] }).holds).toBe(true);
    const around = property(
      'always-via REVIEWING',
      { ...reviewed, transitions: [...(reviewed.transitions ?? []), ['OBSERVING', 'ACTING']] },
      { alwaysVia: ['REVIEWING'] },
    );
    expect(around.holds).toBe(false);
    expect(around.counterexample?.at(-1)?.state.phase).toBe('ACTING');
    expect(around.counterexample?.map(({ state }) => state.phase)).not.toContain('REVIEWING');
  });

  test('about a phase that does not exist is refused', () => {
    expect(() => verify(createSupervisor(), { alwaysVia: ['REVIEWNG'] })).toThrow(
      'Unknown phase: "REVIEWNG"',
    );
    expect(() => verify(createSupervisor(), { never: [['IDLE', 'X']] })).toThrow('Unknown phase: "X"');
  });
});

describe('a warning is given', () => {
  const idsOf = (options: SupervisorOptions) =>
    verify(createSupervisor(options)).warnings.map(({ id }) => id);

  test('for a loop budget of 0, which forbids retries too', () => {
    expect(idsOf({ maxLoopsPerPhase: 0 })).toContain('no-retries');
    expect(idsOf({ maxLoopsPerPhase: 0, onToolError: 'observe' })).not.toContain('no-retries');
  });

  test('for a budget that can never be used up', () => {
    expect(idsOf({})).not.toContain('budget-never-binds');
    expect(
      idsOf({
        maxSteps: 5,
        transitions: [
          ['IDLE', 'ACTING'],
          ['OBSERVING', 'ANSWERING'],
        ],
      }),
    ).toContain('budget-never-binds');
  });

  test('for a phase that a call passes through by itself', () => {
    const { warnings } = verify(
      createSupervisor({
        phases: ['REVIEWING'],
        transitions: [
          ['IDLE', 'PLANNING'],
          ['PLANNING', 'ACTING'],
          ['OBSERVING', 'REVIEWING'],
          ['REVIEWING', 'PLANNING'],
          ['PLANNING', 'ANSWERING'],
        ],
      }),
    );
    expect(warnings.map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/^A call made in OBSERVING passes through REVIEWING by itself/),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  createSupervisor,
  DEFAULT_PHASES,
  DEFAULT_TRANSITIONS,
  isTerminal,
  type Phase,
  PhasegateError,
  type Transition,
} from '../../src/index.ts';
import { Table } from '../../src/table.ts';
import { stateIn } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

function errorOf(action: () => unknown): PhasegateError {
  try {
    action();
  } catch (error) {
    if (error instanceof PhasegateError) return error;
    throw error;
  }
  throw new Error('expected an error, and there was none');
}

describe('SPEC §1.1 and §1.2: the phases and the default table', () => {
  test('there are seven phases, in the order of declaration', () => {
    expect(DEFAULT_PHASES).toEqual([
      'IDLE',
      'PLANNING',
      'ACTING',
      'OBSERVING',
      'ANSWERING',
      'REJECTED',
      'EXHAUSTED',
    ]);
  });

  test('ANSWERING, REJECTED and EXHAUSTED are terminal, and no other is', () => {
    expect(DEFAULT_PHASES.filter(isTerminal)).toEqual(['ANSWERING', 'REJECTED', 'EXHAUSTED']);
    for (const phase of ['REVIEWING', 'answering', '', 'constructor']) expect(isTerminal(phase)).toBe(false);
  });

  test('the default table is exactly the six edges that the page draws', () => {
    expect(createSupervisor().transitions).toEqual([
      ['IDLE', 'PLANNING'],
      ['PLANNING', 'ACTING'],
      ['PLANNING', 'ANSWERING'],
      ['ACTING', 'OBSERVING'],
      ['OBSERVING', 'PLANNING'],
      ['OBSERVING', 'ANSWERING'],
    ]);
    expect(DEFAULT_TRANSITIONS).toEqual(createSupervisor().transitions);
  });

  test('nothing leads into REJECTED or EXHAUSTED', () => {
    const targets = createSupervisor().transitions.map(([, to]) => to);
    expect(targets).not.toContain('REJECTED');
    expect(targets).not.toContain('EXHAUSTED');
  });
});

describe('SPEC §1.3: further phases', () => {
  const good = ['A', 'REVIEWING', 'WAITING_FOR_USER', 'X2', 'A_', 'CONSTRUCTOR', 'PROTO__'];
  test.each(good)('%s names a phase', (phase) => {
    const supervisor = createSupervisor({ phases: [phase] });
    expect(supervisor.addTransition('IDLE', phase)).toBe(true);
    expect(supervisor.proposeTransition(supervisor.initialState(), phase).allowed).toBe(true);
  });

  const bad: [string, unknown][] = [
    ['the empty string', ''],
    ['a name in small letters', 'reviewing'],
    ['constructor', 'constructor'],
    ['__proto__', '__proto__'],
    ['toString', 'toString'],
    ['hasOwnProperty', 'hasOwnProperty'],
    ['a dotted name', 'a.b'],
    ['a dotted name in capitals', 'A.B'],
    ['a name that begins with a digit', '2ND'],
    ['a name that begins with _', '_A'],
    ['a name with a space', 'A B'],
    ['a name with a line break at its end', 'A\n'],
    ['a name with a letter beyond ASCII', 'ÄNDERN'],
    ['a letter that looks like another', 'ІDLE'],
    ['*, which XState takes for every event', '*'],
    ['a number', 5],
    ['NaN', Number.NaN],
    ['undefined', undefined],
    ['null', null],
    ['a symbol', Symbol('A')],
    ['an object whose toString is a good name', { toString: () => 'A' }],
    ['an array of a good name', ['A']],
  ];
  test.each(bad)('%s does not, and the error says what does', (_, phase) => {
    const error = errorOf(() => createSupervisor({ phases: [phase as string] }));
    expect(error.code).toBe('invalid-phase');
    expect(error.message).toContain('^[A-Z][A-Z0-9_]*$');
    if (typeof phase === 'string') expect(error.message).toContain(JSON.stringify(phase));
  });

  test('a phase that is there already changes nothing', () => {
    const supervisor = createSupervisor({ phases: ['ACTING', 'REVIEWING', 'REVIEWING'] });
    expect(supervisor.hash).toBe(createSupervisor({ phases: ['REVIEWING'] }).hash);
  });

  test('phases that are no list are an error', () => {
    expect(errorOf(() => createSupervisor({ phases: 'REVIEWING' as never })).code).toBe('invalid-argument');
  });
});

describe('SPEC §1.3: a change of the table', () => {
  const impossible: [from: unknown, to: unknown, why: RegExp][] = [
    ['ANSWERING', 'PLANNING', /ANSWERING -> PLANNING.*ANSWERING is terminal/],
    ['REJECTED', 'IDLE', /REJECTED -> IDLE.*REJECTED is terminal/],
    ['EXHAUSTED', 'EXHAUSTED', /EXHAUSTED -> EXHAUSTED.*EXHAUSTED is terminal/],
    ['IDLE', 'FOO', /IDLE -> FOO.*no phase "FOO"/],
    ['FOO', 'IDLE', /FOO -> IDLE.*no phase "FOO"/],
    ['FOO', 'BAR', /FOO -> BAR.*no phase "FOO"/],
    ['IDLE', 'constructor', /IDLE -> constructor.*no phase "constructor"/],
    ['__proto__', 'IDLE', /__proto__ -> IDLE.*no phase "__proto__"/],
    ['IDLE', 'a.b', /IDLE -> a\.b.*no phase "a\.b"/],
    ['IDLE', '', /no phase ""/],
    ['IDLE', 5, /IDLE -> 5.*no phase 5/],
    ['IDLE', undefined, /no phase undefined/],
    ['IDLE', Symbol('PLANNING'), /no phase a symbol/],
    ['IDLE', ['PLANNING'], /no phase an array/],
  ];

  describe.each(impossible)('the edge %s -> %s', (from, to, why) => {
    const edge = [from as string, to as string] as const;
    const attempts: [string, () => unknown][] = [
      ['added', () => createSupervisor().addTransition(...edge)],
      ['removed', () => createSupervisor().removeTransition(...edge)],
      ['given at the start', () => createSupervisor({ transitions: [edge] })],
    ];
    test.each(attempts)('cannot be %s: the error names the edge and why', (_, attempt) => {
      const error = errorOf(attempt);
      expect(error.code).toBe('invalid-transition');
      expect(error.message).toMatch(why);
    });
  });

  test('an edge that is refused leaves the table as it was', () => {
    const supervisor = createSupervisor();
    const { hash, machine } = supervisor;
    errorOf(() => supervisor.addTransition('ANSWERING', 'PLANNING'));
    errorOf(() => supervisor.removeTransition('IDLE', 'FOO'));
    expect(supervisor.hash).toBe(hash);
    expect(supervisor.machine).toBe(machine);
  });

  test('adding an edge says whether it changed the table', () => {
    const supervisor = createSupervisor();
    const { machine } = supervisor;
    expect(supervisor.addTransition('IDLE', 'PLANNING')).toBe(false);
    expect(supervisor.machine).toBe(machine);
    expect(supervisor.addTransition('OBSERVING', 'OBSERVING')).toBe(true);
    expect(supervisor.addTransition('OBSERVING', 'OBSERVING')).toBe(false);
    expect(supervisor.transitions).toContainEqual(['OBSERVING', 'OBSERVING']);
  });

  test('removing an edge says whether it changed the table', () => {
    const supervisor = createSupervisor();
    expect(supervisor.removeTransition('IDLE', 'ACTING')).toBe(false);
    expect(supervisor.removeTransition('IDLE', 'PLANNING')).toBe(true);
    expect(supervisor.removeTransition('IDLE', 'PLANNING')).toBe(false);
    expect(supervisor.transitions).not.toContainEqual(['IDLE', 'PLANNING']);
  });

  test('an edge into a terminal phase is possible', () => {
    const supervisor = createSupervisor();
    expect(supervisor.addTransition('ACTING', 'REJECTED')).toBe(true);
    expect(supervisor.proposeTransition(stateIn('ACTING'), 'REJECTED').allowed).toBe(true);
  });

  test('transitions that are no list of pairs are an error', () => {
    for (const transitions of [
      'IDLE',
      [['IDLE']],
      [['IDLE', 'ACTING', 'IDLE']],
      [null],
      ['AB'],
      new Array(1),
    ]) {
      const error = errorOf(() => createSupervisor({ transitions: transitions as never }));
      expect(error.code).toBe('invalid-argument');
    }
  });

  test('an edge given twice is there once', () => {
    const twice: Transition[] = [...DEFAULT_TRANSITIONS, ...DEFAULT_TRANSITIONS];
    expect(createSupervisor({ transitions: twice }).transitions).toEqual(DEFAULT_TRANSITIONS);
  });

  test('the table is a copy of what was given', () => {
    const transitions: [string, string][] = [['IDLE', 'ACTING']];
    const supervisor = createSupervisor({ transitions });
    transitions.push(['IDLE', 'PLANNING']);
    (transitions[0] as [string, string])[1] = 'ANSWERING';
    expect(supervisor.transitions).toEqual([['IDLE', 'ACTING']]);
  });
});

describe('SPEC §4.1 and §4.2: the way to ACTING', () => {
  test('from ACTING it is the self-loop, whatever the table says', () => {
    expect(Table.of([], []).pathToActing('ACTING')).toEqual(['ACTING', 'ACTING']);
    expect(Table.of([], [['ACTING', 'ACTING']]).pathToActing('ACTING')).toEqual(['ACTING', 'ACTING']);
  });

  test('no path leads through a terminal phase', () => {
    const table = Table.of(
      [],
      [
        ['IDLE', 'ANSWERING'],
        ['IDLE', 'REJECTED'],
      ],
    );
    expect(table.pathToActing('IDLE')).toBeUndefined();
    for (const phase of ['ANSWERING', 'REJECTED', 'EXHAUSTED']) {
      expect(table.pathToActing(phase)).toBeUndefined();
    }
  });

  test('of two paths of the same length the one whose phases are declared first wins, in whatever order the edges came', () => {
    const edges: Transition[] = [
      ['IDLE', 'LATER'],
      ['IDLE', 'SOONER'],
      ['LATER', 'ACTING'],
      ['SOONER', 'ACTING'],
    ];
    for (const transitions of [edges, edges.toReversed()]) {
      const table = Table.of(['SOONER', 'LATER'], transitions);
      expect(table.pathToActing('IDLE')).toEqual(['IDLE', 'SOONER', 'ACTING']);
    }
  });

  test('the first difference decides, not the last', () => {
    const table = Table.of(
      ['A', 'B', 'C', 'D'],
      [
        ['IDLE', 'A'],
        ['IDLE', 'B'],
        ['A', 'D'],
        ['B', 'C'],
        ['C', 'ACTING'],
        ['D', 'ACTING'],
      ],
    );
    expect(table.pathToActing('IDLE')).toEqual(['IDLE', 'A', 'D', 'ACTING']);
  });

  // Forward, with one search for each phase: slow, and nothing like the search of the table.
  function plainSearch(phases: readonly Phase[], edges: readonly Transition[]) {
    const neighbours = new Map(phases.map((phase) => [phase, new Set<Phase>()]));
    const order = new Map(phases.map((phase, i) => [phase, i]));
    const declared = ([, to]: Transition) => order.get(to) ?? 0;
    for (const [from, to] of edges.toSorted((a, b) => declared(a) - declared(b)))
      neighbours.get(from)?.add(to);
    return (start: Phase): Phase[] | undefined => {
      if (start === 'ACTING') return ['ACTING', 'ACTING'];
      const reachedFrom = new Map<Phase, Phase | undefined>([[start, undefined]]);
      const queue = [start];
      for (const phase of queue) {
        for (const next of neighbours.get(phase) ?? []) {
          if (reachedFrom.has(next)) continue;
          reachedFrom.set(next, phase);
          queue.push(next);
        }
      }
      if (!reachedFrom.has('ACTING')) return undefined;
      const path: Phase[] = [];
      for (let at: Phase | undefined = 'ACTING'; at !== undefined; at = reachedFrom.get(at)) path.unshift(at);
      return path;
    };
  }

  function answersEqualPlainSearch(further: readonly Phase[], transitions: readonly Transition[]) {
    const phases = [...DEFAULT_PHASES, ...further];
    const supervisor = createSupervisor({ phases: further, transitions });
    const search = plainSearch(phases, transitions);
    for (const phase of phases) {
      const answer = supervisor.validateActionPhase(stateIn(phase));
      const path = search(phase);
      const expected = isTerminal(phase) ? 'terminal-phase' : (path ?? 'action-unreachable');
      expect(answer.allowed ? answer.path : answer.code).toEqual(expected);
    }
  }

  function tables(furtherPhases: number, edges: number) {
    return fc.integer({ min: 0, max: furtherPhases }).chain((count) => {
      const further = Array.from({ length: count }, (_, i) => `P${i}`);
      const phases: Phase[] = [...DEFAULT_PHASES, ...further];
      const from = fc.constantFrom(...phases.filter((phase) => !isTerminal(phase)));
      const to = fc.constantFrom(...phases);
      const size = { minLength: Math.floor(edges / 2), maxLength: edges, size: 'max' } as const;
      return fc.record({
        further: fc.constant(further),
        transitions: fc.array(fc.tuple(from, to), size),
      });
    });
  }

  test('on any small table, dense enough for ties, it equals a plain breadth-first search', () => {
    fc.assert(
      fc.property(tables(6, 30), ({ further, transitions }) => answersEqualPlainSearch(further, transitions)),
      { numRuns: 200 },
    );
  });

  test('on tables of 500 phases it equals a plain breadth-first search', () => {
    const further = Array.from({ length: 493 }, (_, i) => `P${i}`);
    const phases: Phase[] = [...DEFAULT_PHASES, ...further];
    const live = phases.filter((phase) => !isTerminal(phase));
    const edge = fc.tuple(fc.constantFrom(...live), fc.constantFrom(...phases));
    const size = { minLength: 500, maxLength: 1500, size: 'max' } as const;
    fc.assert(
      fc.property(fc.array(edge, size), (transitions) => answersEqualPlainSearch(further, transitions)),
      { numRuns: 10 },
    );
  });

  test('it is the same on a table that was made by edits and on one that was made at once', () => {
    fc.assert(
      fc.property(tables(4, 20), ({ further, transitions }) => {
        const edited = createSupervisor({ phases: further });
        for (const [from, to] of DEFAULT_TRANSITIONS) edited.removeTransition(from, to);
        for (const [from, to] of transitions) edited.addTransition(from, to);
        const made = createSupervisor({ phases: further, transitions });
        expect(edited.transitions).toEqual(made.transitions);
        expect(edited.hash).toBe(made.hash);
        for (const phase of [...DEFAULT_PHASES, ...further]) {
          expect(edited.validateActionPhase(stateIn(phase))).toEqual(
            made.validateActionPhase(stateIn(phase)),
          );
        }
      }),
      { numRuns: 50 },
    );
  });

  // As a caller in JavaScript might: `path.shift()` to drop the phase that it is in, `transitions.sort()` to print them.
  test('what a caller does to an answer changes no later answer', () => {
    const answer = createSupervisor().validateActionPhase(stateIn('IDLE'));
    if (!answer.allowed) throw new Error('expected to be allowed');
    const path = answer.path as Phase[];
    const transitions = createSupervisor().transitions as Transition[];
    try {
      tried(() => path.shift());
      tried(() => transitions.pop());
      expect(createSupervisor().validateActionPhase(stateIn('IDLE'))).toMatchObject({
        path: ['IDLE', 'PLANNING', 'ACTING'],
      });
      expect(createSupervisor().transitions).toHaveLength(6);
    } finally {
      // Where it does change them, the other tests are not to suffer.
      if (path.length === 2) path.unshift('IDLE');
      if (transitions.length === 5) transitions.push(['OBSERVING', 'ANSWERING']);
    }
  });
});

function tried(action: () => unknown): void {
  try {
    action();
  } catch {
    // Frozen: as good.
  }
}

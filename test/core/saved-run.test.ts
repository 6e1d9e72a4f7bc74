import { describe, expect, test } from 'vitest';
import {
  type Call,
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Enforcement,
  type PhasegateEvent,
  type Run,
  type SavedRun,
  SavedRunError,
} from '../../src/index.ts';
import { flush, gate, refusalOf } from './helpers.ts';

const KEY = 'a secret of 16 bytes or more';

function enforcementOf(options: Parameters<typeof createSupervisor>[0] = {}): Enforcement {
  return createEnforcement({
    supervisor: createSupervisor({ maxSteps: 5, ...options }),
    parallel: 'concurrent',
  });
}

/** As it comes back from a store. */
function stored(saved: SavedRun): SavedRun {
  return JSON.parse(JSON.stringify(saved));
}

async function steps(run: Run, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await run.callTool('search', {}, () => 'a page');
}

function refused(resume: () => unknown): SavedRunError {
  try {
    resume();
  } catch (error) {
    expect(error).toBeInstanceOf(SavedRunError);
    return error as SavedRunError;
  }
  throw new Error('it was resumed');
}

/** The saved run with something else at a place in it, as in `state.stepCount`; without it, where that is undefined. */
function edited(saved: SavedRun, path: string, value: unknown): SavedRun {
  const copy = stored(saved);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const holder = keys.reduce(
    (at, key) => at[key] as Record<string, unknown>,
    copy as unknown as Record<string, unknown>,
  );
  holder[last] = value;
  return stored(copy);
}

describe('SPEC §11.1: a run that was saved', () => {
  test('goes on elsewhere with the same id, phase, counters and budgets', async () => {
    const run = enforcementOf().beginRun({ id: 'r1' });
    await steps(run, 3);

    const resumed = enforcementOf().resumeRun(stored(run.save()));

    expect(resumed.id).toBe('r1');
    expect(resumed.state).toEqual(run.state);
    await steps(resumed, 2);
    expect(await refusalOf(resumed.callTool('search', {}, () => 0))).toMatchObject({ code: 'step-budget' });
  });

  test('numbers its calls where it left off', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 2);
    const resumed = enforcementOf().resumeRun(stored(run.save()));
    await steps(resumed, 1);
    expect(resumed.log.map(({ callId }) => callId)).toEqual(['call-3']);
  });

  test('keeps the failed calls in a row that its loop budget has counted', async () => {
    const run = enforcementOf({ maxLoopsPerPhase: 2 }).beginRun();
    for (let i = 0; i < 3; i++) run.failCall(await run.beforeCall('search'));
    const resumed = enforcementOf({ maxLoopsPerPhase: 2 }).resumeRun(stored(run.save()));
    expect(resumed.state.loopCount).toEqual({ ACTING: 2 });
    expect(await refusalOf(resumed.beforeCall('search'))).toMatchObject({ code: 'loop-budget' });
  });

  test('stays ended, and says why', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 1);
    run.abort('the user left');
    const resumed = enforcementOf().resumeRun(stored(run.save()));
    expect(resumed.state).toEqual(run.state);
    expect(resumed.signal).toMatchObject({ aborted: true, reason: 'the user left' });
    const { code, message } = await refusalOf(resumed.beforeCall('search'));
    expect([code, message]).toEqual([
      'run-completed',
      'Cannot call search: agent run is already completed: the user left',
    ]);
  });
});

describe('SPEC §11.2: calls in flight', () => {
  test('were interrupted: each is charged, told of, and the phase is OBSERVING', async () => {
    const run = enforcementOf().beginRun({ id: 'r1' });
    const outer = await run.beforeCall('research', {}, { callId: 'c1' });
    await run.beforeCall('search', {}, { callId: 'c2', parent: outer });
    const enforcement = enforcementOf();
    const events: PhasegateEvent[] = [];
    enforcement.on((event) => events.push(event));

    const resumed = enforcement.resumeRun(stored(run.save()));

    expect(resumed.state).toEqual({
      ...run.state,
      phase: 'OBSERVING',
      stepCount: 2,
      loopCount: {},
      inFlight: 0,
    });
    expect(resumed.interrupted).toEqual([
      { seq: 1, id: 'c1', tool: 'research', parent: null },
      { seq: 2, id: 'c2', tool: 'search', parent: 1 },
    ]);
    expect(resumed.callsInFlight).toEqual([]);
    expect(events).toMatchObject([
      { type: 'run.started', run: 'r1', resumed: { state: run.state, calls: resumed.interrupted } },
      { type: 'call.ended', call: 'c2', ok: true, late: false, interrupted: true },
      { type: 'phase.entered', from: 'ACTING', phase: 'OBSERVING' },
      { type: 'call.ended', call: 'c1', ok: true, late: false, interrupted: true },
    ]);
  });

  test('are kept, if their bodies go on elsewhere', async () => {
    const run = enforcementOf().beginRun();
    const outer = await run.beforeCall('research');
    await run.beforeCall('search', {}, { parent: outer });

    const resumed = enforcementOf().resumeRun(stored(run.save()), { inFlight: 'keep' });

    expect(resumed.state).toEqual(run.state);
    expect(resumed.interrupted).toEqual([]);
    const [first, second] = resumed.callsInFlight;
    expect(second?.parent).toBe(first);
    if (first === undefined || second === undefined) throw new Error('there are two');
    await first.callTool('read', {}, () => 'a page');
    resumed.failCall(second);
    resumed.afterCall(first);
    expect(resumed.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
  });

  test('that wait or are being checked have not begun, and are not in it', async () => {
    const checked = gate<{ allowed: true }>();
    const monitor = createMonitor(
      { enabledChecks: ['slow'] },
      { checks: [{ name: 'slow', check: () => checked.passed }] },
    );
    const enforcement = createEnforcement({ monitor });
    const run = enforcement.beginRun();
    const answers = [run.beforeCall('search'), run.beforeCall('read')];
    const saved = stored(run.save());
    expect(saved).toMatchObject({ state: run.state, calls: [], callsAsked: 2 });
    checked.open({ allowed: true });
    await flush();
    expect(createEnforcement({ monitor }).resumeRun(saved).state).toMatchObject({
      phase: 'IDLE',
      stepCount: 0,
    });
    run.finish();
    await Promise.allSettled(answers);
  });
});

describe('what was signed', () => {
  test('is resumed with its key, and refused with another, with none, or after an edit', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 2);
    const saved = stored(run.save({ key: KEY }));
    const enforcement = enforcementOf();

    expect(enforcement.resumeRun(saved, { key: KEY }).state).toEqual(run.state);
    for (const [given, options] of [
      [saved, { key: `${KEY}!` }],
      [saved, {}],
      [run.save(), { key: KEY }],
      [edited(saved, 'state.stepCount', 1), { key: KEY }],
      [edited(saved, 'id', 'another'), { key: KEY }],
    ] as const) {
      expect(refused(() => enforcement.resumeRun(given, options)).differs).toBe('signature');
    }
  });
});

describe('SPEC §11.1: what is refused, and what is said of it', () => {
  const enforcement = enforcementOf();
  const run = enforcement.beginRun({ id: 'r1' });
  const outer = run.admit('research') as Call;
  run.admit('search', {}, { parent: outer });
  const saved = stored(run.save());

  test.each([
    [
      'version',
      2,
      'version',
      'version must be 1, got 2. Resume it with the version of phasegate that saved it',
    ],
    [
      'version',
      undefined,
      'shape',
      'version must be 1, got undefined. Give resumeRun what run.save() returned',
    ],
    [
      'rules',
      'abc',
      'rules',
      `rules must be "${enforcement.supervisor.hash}", those of this enforcement, got "abc". Resume it with a supervisor of the table`,
    ],
    ['rules', 7, 'shape', 'rules must be a text, got 7'],
    ['id', null, 'shape', 'id must be a text, got null'],
    [
      'extra',
      1,
      'shape',
      'A saved run must be an object with nothing but version, rules, id, state, callsAsked, calls, childCalls, maxDepth, parent, got "extra"',
    ],
    ['callsAsked', undefined, 'shape', 'callsAsked must be there, got undefined'],
    ['callsAsked', 1, 'state', 'calls[1].seq must be a number from 1 to 1 that no other call has, got 2'],
    ['childCalls', -1, 'shape', 'childCalls must be a whole number of 0 or more, got -1'],
    ['childCalls', 4, 'state', 'state.stepCount must be at most 5 together with 6 calls in flight, got 0'],
    ['maxDepth', '5', 'shape', 'maxDepth must be a whole number of 0 or more, got "5"'],
    [
      'state',
      null,
      'shape',
      'state must be an object with phase, stepCount, loopCount, inFlight, finished, reason, got null',
    ],
    ['state.extra', 1, 'shape', 'state must be an object with nothing but phase'],
    [
      'state.phase',
      'REVIEWING',
      'state',
      'state.phase must be one of IDLE, PLANNING, ACTING, OBSERVING, ANSWERING, REJECTED, EXHAUSTED, got "REVIEWING"',
    ],
    [
      'state.phase',
      'OBSERVING',
      'state',
      'state.inFlight must be 0 in OBSERVING, as calls are in flight in ACTING, got 2',
    ],
    ['state.phase', 'ANSWERING', 'state', 'state.finished must be true in ANSWERING, got false'],
    ['state.finished', true, 'state', 'state.finished must be false in ACTING, got true'],
    ['state.finished', 'no', 'shape', 'state.finished must be true or false, got "no"'],
    ['state.reason', 'bored', 'state', 'state.reason must be null in a run that has not ended, got "bored"'],
    ['state.stepCount', -100, 'shape', 'state.stepCount must be a whole number of 0 or more, got -100'],
    ['state.stepCount', 1.5, 'shape', 'state.stepCount must be a whole number of 0 or more, got 1.5'],
    ['state.stepCount', '3', 'shape', 'state.stepCount must be a whole number of 0 or more, got "3"'],
    ['state.stepCount', Number.NaN, 'shape', 'state.stepCount must be a whole number of 0 or more, got null'],
    [
      'state.stepCount',
      4,
      'state',
      'state.stepCount must be at most 5 together with 2 calls in flight, got 4',
    ],
    ['state.loopCount', [], 'shape', 'state.loopCount must be an object, got an array'],
    ['state.loopCount', { ACTING: 0 }, 'state', 'state.loopCount.ACTING must be from 1 to 3, got 0'],
    ['state.loopCount', { ACTING: 4 }, 'state', 'state.loopCount.ACTING must be from 1 to 3, got 4'],
    ['state.loopCount', { PLANNING: 1 }, 'state', 'state.loopCount.PLANNING must be absent'],
    ['state.inFlight', 1, 'state', 'state.inFlight must be 2, as many as there are calls, got 1'],
    ['calls', {}, 'shape', 'calls must be an array, got an object'],
    ['calls.0', 'c1', 'shape', 'calls[0] must be an object with seq, id, tool, parent, got "c1"'],
    ['calls.0.tool', '', 'state', 'calls[0].tool must be the name of a tool, got ""'],
    ['calls.1.seq', 1, 'state', 'calls[1].seq must be a number from 1 to 2 that no other call has, got 1'],
    ['calls.1.parent', 2, 'state', 'calls[1].parent must be null, or the number of a call before it, got 2'],
    ['parent', {}, 'shape', 'parent.run must be there, got undefined'],
    [
      'parent',
      { run: 'r0', call: 1, callId: 'c', budget: 'mine' },
      'shape',
      "parent.budget must be 'shared' or 'own', got \"mine\"",
    ],
    [
      'signature',
      'abc',
      'signature',
      'signature must be absent where no key is given to check it with, got "abc". Give the key',
    ],
  ] as const)('%s: %j', (path, value, differs, message) => {
    const error = refused(() => enforcementOf().resumeRun(edited(saved, path, value)));

    expect(error.message).toContain(`This saved run cannot be resumed: ${message}`);
    expect(error).toMatchObject({ name: 'SavedRunError', code: 'saved-run-refused', differs });
  });

  test.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['{"version":1}', '"{\\"version\\":1}"'],
    [[], 'an array'],
  ])('%j', (given, got) => {
    const error = refused(() => enforcementOf().resumeRun(given as never));
    expect(error.message).toBe(
      `This saved run cannot be resumed: A saved run must be the object that run.save() returned, got ${got}. ` +
        'Give resumeRun what run.save() returned, whole and unchanged; JSON.parse a text first',
    );
  });

  test('what throws when it is looked at', () => {
    const hostile = Object.defineProperty({}, 'version', {
      enumerable: true,
      get: () => {
        throw new Error('boo');
      },
    });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const given of [hostile, proxy, { version: 1n }, { toJSON: () => null }]) {
      expect(refused(() => enforcementOf().resumeRun(given as never)).differs).toBe('shape');
    }
  });

  test('members that lie deeper than the stack, with and without a key', () => {
    let deep: unknown = 0;
    for (let depth = 0; depth < 20_000; depth++) deep = [deep];
    const given = { ...saved, parent: deep } as never;
    expect(refused(() => enforcementOf().resumeRun(given)).differs).toBe('shape');
    expect(refused(() => enforcementOf().resumeRun(given, { key: KEY })).code).toBe('saved-run-refused');
  });

  test('a run that was saved under other budgets or another table', () => {
    for (const options of [
      { maxSteps: 6 },
      { maxLoopsPerPhase: 2 },
      { phases: ['REVIEWING'] },
      { onToolError: 'observe' },
    ] as const) {
      expect(refused(() => enforcementOf(options).resumeRun(saved)).differs).toBe('rules');
    }
  });

  test('a live run keeps the table that it began with, and is saved with that', () => {
    const { supervisor } = enforcement;
    supervisor.addTransition('OBSERVING', 'ACTING');
    expect(run.save().rules).toBe(saved.rules);
    expect(enforcement.beginRun().save().rules).not.toBe(saved.rules);
    supervisor.removeTransition('OBSERVING', 'ACTING');
  });

  test('without the dfa stage no budget bounds the counters', () => {
    const off = createEnforcement({ supervisor: enforcement.supervisor, enabledChecks: [] });
    const resumed = off.resumeRun(
      edited(edited(saved, 'state.stepCount', 50), 'state.loopCount', { ACTING: 50 }),
    );
    expect(resumed.state.stepCount).toBe(52);
  });

  test.each([
    [{ id: 'r2' }, /^There is no option "id" of resumeRun/],
    [{ inFlight: 'drop' }, /^inFlight must be 'interrupt' or 'keep', got "drop"/],
    [{ key: undefined }, /^key must be a secret text or Uint8Array of 16 bytes or more, got undefined/],
    [{ key: 'too short' }, /^key must be .* got 9$/],
    [{ timeoutMs: 0 }, /^timeoutMs must be/],
    [{ signal: {} }, /^signal must be/],
    [{ parent: 'c1' }, /^parent must be/],
  ])('options that cannot be: %j', (options, message) => {
    expect(() => enforcement.resumeRun(saved, options as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument', message: expect.stringMatching(message) }),
    );
  });

  test('a key that is not there does not leave a run unsigned', () => {
    expect(() => run.save({ key: undefined as never })).toThrow(/^key must be/);
    expect(() => run.save({ kee: KEY } as never)).toThrow(/^There is no option "kee" of save/);
  });
});

describe('SPEC §11.3: a run that was resumed', () => {
  test('ends at a deadline of its own, and whoever waits for its agent is told', async () => {
    const run = enforcementOf().beginRun({ id: 'r1' });
    await steps(run, 1);
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(stored(run.save()), { timeoutMs: 5 });
    const answer = enforcement.withRun(() => new Promise(() => {}), resumed);
    await expect(answer).rejects.toMatchObject({ code: 'run-timeout', runId: 'r1' });
    expect(resumed.state).toMatchObject({ finished: true, reason: 'timeout after 5 ms', stepCount: 1 });
  });

  test('is aborted by its signal, after its calls in flight were charged', async () => {
    const run = enforcementOf().beginRun();
    await run.beforeCall('search');
    const resumed = enforcementOf().resumeRun(run.save(), { signal: AbortSignal.abort('no more') });
    expect(resumed.state).toMatchObject({ stepCount: 1, finished: true, reason: 'no more' });
  });

  test('is finished by withRun, and found by the tools inside of it', async () => {
    const enforcement = enforcementOf();
    const search = enforcement.tool('search', () => 'a page');
    const run = enforcement.resumeRun(enforcementOf().beginRun().save());
    await enforcement.withRun(search, run);
    expect(run.state).toMatchObject({ stepCount: 1, finished: true });
    await expect(enforcementOf().withRun(search, run)).rejects.toThrow(
      /^run must be one of this enforcement/,
    );
  });

  test('that had ended lets calls end late, and counts them no more', async () => {
    const run = enforcementOf().beginRun();
    await run.beforeCall('search');
    run.finish();
    const enforcement = enforcementOf();
    const late: unknown[] = [];
    enforcement.on((event) => event.type === 'call.ended' && late.push([event.late, event.interrupted]));
    expect(enforcement.resumeRun(run.save()).state).toEqual({ ...run.state, inFlight: 0 });
    const kept = enforcement.resumeRun(run.save(), { inFlight: 'keep' });
    for (const call of kept.callsInFlight) kept.afterCall(call);
    expect(kept.state).toEqual({ ...run.state, inFlight: 0 });
    expect(late).toEqual([
      [true, true],
      [true, false],
    ]);
  });
});

describe('SPEC §11.4: runs inside of runs', () => {
  /** A run with a child run in its call; both as they were saved, with that many calls of the child in flight. */
  function family(inFlight = 0, budget: 'shared' | 'own' = 'shared', made = 1) {
    const parent = enforcementOf().beginRun({ id: 'p' });
    const call = parent.admit('research') as Call;
    const child = enforcementOf().beginRun({ id: 'c', parent: call, budget });
    for (let i = 0; i < made; i++) child.afterCall(child.admit('search') as Call);
    for (let i = 0; i < inFlight; i++) child.admit('search');
    return { parent: stored(parent.save()), child: stored(child.save()) };
  }

  test('a child run says whose it is, and goes on in any call of that run', async () => {
    const { parent, child } = family();
    expect(child.parent).toEqual({ run: 'p', call: 1, callId: 'call-1', budget: 'shared' });
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(parent);
    await resumed.callTool('research', {}, async (ctx) => {
      const inner = enforcement.resumeRun(child, { parent: ctx });
      expect([inner.parent, inner.depth, inner.state.stepCount]).toEqual([resumed, 1, 1]);
      // Of 5 steps: one of the child, one interrupted, this call, and two that are left.
      await steps(inner, 2);
      expect((await refusalOf(inner.beforeCall('search'))).message).toContain(
        'Step budget exhausted: 4/5 (parent run)',
      );
    });
  });

  test('or in the parent run, and so in the call in which it was begun', () => {
    const { parent, child } = family();
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(parent, { inFlight: 'keep' });
    const inner = enforcement.resumeRun(child, { parent: resumed });
    const call = inner.inside(() => resumed.admit('search')) as Call;
    expect(call.parent).toBe(resumed.callsInFlight[0]);
  });

  test('or in the parent run, where the call in which it was begun has ended', () => {
    const { parent, child } = family();
    const enforcement = enforcementOf();
    const started: unknown[] = [];
    enforcement.on(
      (event) => event.type === 'run.started' && started.push([event.run, event.parent, event.call]),
    );
    const resumed = enforcement.resumeRun(parent);
    const inner = enforcement.resumeRun(child, { parent: resumed });
    expect([inner.parent, inner.save().parent]).toEqual([resumed, child.parent]);
    expect(started).toEqual([
      ['p', null, null],
      ['c', 'p', 'call-1'],
    ]);
    resumed.finish();
    expect(inner.state).toMatchObject({ finished: true, reason: 'parent run ended' });
  });

  test('it finds that call by itself, also around the runs of others', async () => {
    const { parent, child } = family();
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(parent);
    const other = createEnforcement();
    await resumed.callTool('research', {}, () =>
      other.withRun((run) =>
        run.callTool('x', {}, () => {
          expect(enforcement.resumeRun(child).parent).toBe(resumed);
        }),
      ),
    );
  });

  test.each(['shared', 'own'] as const)(
    'with a budget that is %s it does not go on without its parent run',
    (budget) => {
      const { child } = family(0, budget);
      const enforcement = enforcementOf();
      const stranger = enforcement.beginRun({ id: 'x' }).admit('research') as Call;
      for (const [parent, got] of [
        [undefined, 'no parent'],
        [null, 'no parent'],
        [stranger, 'a parent in run "x"'],
        [stranger.run, 'a parent in run "x"'],
      ] as const) {
        const { differs, message } = refused(() => enforcement.resumeRun(child, { parent }));
        expect(differs).toBe('parent');
        expect(message).toContain(`it goes on in run "p", and was given ${got}. Resume its parent run first`);
      }
    },
  );

  test('an outermost run goes on as one, wherever that is done', async () => {
    const enforcement = enforcementOf();
    const { parent } = family();
    const around = enforcement.beginRun();
    await around.callTool('research', {}, (ctx) => {
      expect(enforcement.resumeRun(parent).parent).toBe(null);
      expect(refused(() => enforcement.resumeRun(parent, { parent: ctx })).differs).toBe('parent');
    });
  });

  test('the parent run holds a step for each call in flight of its child runs, until they go on', () => {
    const { parent, child } = family(2);
    expect(parent.childCalls).toBe(2);
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(parent, { inFlight: 'keep' });
    const [call] = resumed.callsInFlight;
    // 1 of 5 steps is made, its own call is in flight, 2 are held: one is left.
    const last = resumed.admit('search', {}, { parent: call }) as Call;
    expect(resumed.admit('search', {}, { parent: call })).toMatchObject({ code: 'step-budget' });
    resumed.failCall(last);

    const inner = enforcement.resumeRun(child, { parent: call });

    expect([inner.state.stepCount, resumed.state.stepCount]).toEqual([3, 3]);
    expect(inner.admit('search')).toMatchObject({ tool: 'search' });
    expect(inner.admit('search')).toMatchObject({ code: 'step-budget' });
  });

  test('and one of another moment is refused', () => {
    const { child } = family(2);
    const enforcement = enforcementOf();
    for (const [parent, knows] of [
      [family(1).parent, 'knows 1 and 1'],
      [family(2, 'shared', 0).parent, 'knows 0 and 2'],
    ] as const) {
      const around = enforcement.resumeRun(parent, { inFlight: 'keep' });
      const { differs, message } = refused(() => enforcement.resumeRun(child, { parent: around }));
      expect([differs, message]).toEqual(['parent', expect.stringContaining(knows)]);
    }
    const around = enforcement.resumeRun(family(2).parent);
    const more = edited(child, 'childCalls', 1);
    expect(refused(() => enforcement.resumeRun(more, { parent: around })).message).toContain(
      '3 calls in flight',
    );
  });

  test('runs that an inspector saves have all counted the same calls', async () => {
    const enforcement = enforcementOf();
    const runs = [enforcement.beginRun()];
    const saved: SavedRun[][] = [];
    let call = await (runs[0] as Run).beforeCall('delegate');
    for (let depth = 1; depth < 3; depth++) {
      const run = enforcement.beginRun({ parent: call });
      runs.push(run);
      call = await run.beforeCall('delegate');
    }
    runs[0]?.inspect(() => void saved.push(runs.map((run) => run.save())));
    call.run.afterCall(call);
    expect(saved.length).toBeGreaterThan(3);
    for (const moment of saved) {
      let parent: Run | null = null;
      for (const one of moment) {
        parent = enforcementOf().resumeRun(stored(one), { inFlight: 'keep', parent });
      }
    }
  });

  test('the same child run does not go on twice with what its parent holds', () => {
    const { parent, child } = family(1);
    const enforcement = enforcementOf();
    const [call] = enforcement.resumeRun(parent, { inFlight: 'keep' }).callsInFlight;
    enforcement.resumeRun(child, { parent: call });
    expect(refused(() => enforcement.resumeRun(child, { parent: call })).differs).toBe('parent');
  });

  test('calls of a child run that are still being checked are not held', async () => {
    const monitor = createMonitor(
      { enabledChecks: ['never'] },
      { checks: [{ name: 'never', check: () => new Promise<never>(() => {}) }] },
    );
    const parent = enforcementOf().beginRun();
    const inner = enforcementOf().beginRun({ parent: parent.admit('research') as Call });
    const checked = createEnforcement({ monitor }).beginRun({ parent: inner.admit('research') as Call });
    const answer = refusalOf(checked.beforeCall('search'));
    expect([parent.save().childCalls, inner.save().childCalls]).toEqual([1, 0]);
    parent.finish();
    expect(await answer).toMatchObject({ code: 'run-completed' });
  });

  test.each([0, 6, null])('it does not lie deeper than it may: with %s levels', (levels) => {
    const { parent, child } = family();
    const enforcement = enforcementOf();
    const [call] = enforcement.resumeRun(parent, { inFlight: 'keep' }).callsInFlight;
    const error = refused(() => enforcement.resumeRun(edited(child, 'maxDepth', levels), { parent: call }));
    expect(error.message).toContain(`maxDepth must be from 1 to 5 inside of run "p", got ${levels}`);
  });

  test('in a parent run that has ended it ends at once', () => {
    const { parent, child } = family(1);
    const enforcement = enforcementOf();
    const resumed = enforcement.resumeRun(parent, { inFlight: 'keep' });
    const [call] = resumed.callsInFlight;
    resumed.abort('the user left');
    expect(enforcement.resumeRun(child, { parent: call }).state).toMatchObject({
      finished: true,
      reason: 'the user left',
    });
  });
});

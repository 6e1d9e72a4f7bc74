import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import {
  type Call,
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Enforcement,
  type EnforcementOptions,
  type PhasegateEvent,
  Refusal,
  type Run,
} from '../../src/index.ts';
import { flush, gate, outcomeOf, refusalOf, watch } from './helpers.ts';

/** Calls `act` on the first event for which `when` holds, once. */
function once(
  enforcement: Enforcement,
  when: (event: PhasegateEvent) => boolean,
  act: (event: PhasegateEvent) => unknown,
): void {
  let done = false;
  enforcement.on((event) => {
    if (done || !when(event)) return;
    done = true;
    act(event);
  });
}

const enters = (phase: string) => (event: PhasegateEvent) =>
  event.type === 'phase.entered' && event.phase === phase;
const is = (type: PhasegateEvent['type'], tool?: string) => (event: PhasegateEvent) =>
  event.type === type && (tool === undefined || ('tool' in event && event.tool === tool));

describe('SPEC §9: a listener harms nothing', () => {
  const listeners: [string, () => unknown][] = [
    ['throws', () => boom()],
    ['throws undefined', () => thrown(undefined)],
    ['rejects', () => Promise.reject(new Error('boom'))],
    ['rejects later', () => flush().then(boom)],
    [
      'answers a promise of another realm that rejects',
      () => runInNewContext('Promise.reject(new Error("boom"))'),
    ],
    ['answers a thenable that throws', () => Object.defineProperty({}, 'then', { value: boom })],
    ['answers a then that throws when read', () => Object.defineProperty({}, 'then', { get: boom })],
    ['answers a proxy that throws at every touch', () => new Proxy({}, { get: boom, getPrototypeOf: boom })],
    ['answers a promise whose catch throws', () => Object.assign(Promise.resolve(), { catch: boom })],
    ['never answers', () => new Promise(() => {})],
    ['answers what it likes', () => ({ allowed: false })],
  ];

  test.each(listeners)('one that %s: no call is lost by it, and none admitted', async (_, listener) => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 2 }) });
    const heard: string[] = [];
    enforcement.on(listener);
    enforcement.on((event) => heard.push(event.type));
    const run = enforcement.beginRun();
    expect(await run.callTool('outer', {}, (ctx) => ctx.callTool('inner', {}, () => 'found'))).toBe('found');
    expect((await refusalOf(run.callTool('more', {}, () => 1))).code).toBe('step-budget');
    run.finish();
    await flush();
    expect(run.state).toMatchObject({ phase: 'ANSWERING', stepCount: 2, inFlight: 0 });
    // Those that come after it are told all the same.
    expect(heard.filter((type) => type.startsWith('call.'))).toEqual([
      'call.started',
      'call.started',
      'call.ended',
      'call.ended',
      'call.refused',
    ]);
  });

  test('one that changes what it was told changes no run, and not its log', async () => {
    const enforcement = createEnforcement();
    enforcement.on((event) => {
      const open = event as unknown as Record<string, unknown>;
      for (const key of Object.keys(open)) {
        try {
          open[key] = 'changed';
        } catch {
          // Frozen: as good.
        }
      }
    });
    const run = enforcement.beginRun();
    await run.callTool('search', {}, () => 'found');
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1 });
    expect(run.log).toMatchObject([{ tool: 'search', allowed: true }]);
  });
});

describe('SPEC §9: a listener that ends the run from inside an event', () => {
  const ends: [string, (run: Run) => void][] = [
    ['finishes', (run) => run.finish()],
    ['aborts', (run) => run.abort('stop')],
  ];
  const moments: [string, (event: PhasegateEvent) => boolean][] = [
    ['PLANNING is entered', enters('PLANNING')],
    ['ACTING is entered', enters('ACTING')],
    ['the call is started', is('call.started')],
  ];
  const check = async () => ({ allowed: true }) as const;
  const options: [string, EnforcementOptions][] = [
    ['no check', {}],
    ['a check', { monitor: createMonitor({}, { checks: [{ name: 'slow', check }] }) }],
    ['parallel: concurrent', { parallel: 'concurrent' }],
    ['the stage off', { enabledChecks: [] }],
  ];

  describe.each(ends)('it %s', (_, end) => {
    describe.each(moments)('when %s', (_, moment) => {
      test.each(options)('the body never starts, and the run has ended for good (%s)', async (_, options) => {
        const enforcement = createEnforcement(options);
        const run = enforcement.beginRun();
        once(enforcement, moment, () => end(run));
        let started = false;
        const asked = run.callTool('search', {}, () => {
          started = true;
        });
        expect((await refusalOf(asked)).code).toBe('run-completed');
        expect(started).toBe(false);
        expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true, stepCount: 0, inFlight: 0 });
      });

      test('nothing is entered and nothing starts after the end was told', async () => {
        const enforcement = createEnforcement();
        const types: string[] = [];
        const run = enforcement.beginRun();
        enforcement.on((event) => types.push(event.type));
        once(enforcement, moment, () => end(run));
        await refusalOf(run.callTool('search', {}, () => 1));
        const after = types.slice(types.lastIndexOf('run.ended') + 1);
        expect(after).not.toContain('phase.entered');
        expect(after).not.toContain('call.started');
        // A recording of it can be read: the call was refused, or it started and ended.
        const told = types.filter((type) => type.startsWith('call.'));
        expect([['call.refused'], ['call.started', 'call.ended']]).toContainEqual(told);
      });
    });

    test('when a call waits: it is refused', async () => {
      const enforcement = createEnforcement();
      const run = enforcement.beginRun();
      await run.beforeCall('first');
      once(enforcement, is('call.waiting'), () => end(run));
      expect((await refusalOf(run.callTool('second', {}, () => 1))).code).toBe('run-completed');
    });

    test('when a call is refused: those that wait are refused too', async () => {
      const bad = (call: { tool: string }) =>
        call.tool === 'bad' ? ({ allowed: false } as const) : ({ allowed: true } as const);
      const monitor = createMonitor({}, { checks: [{ name: 'no-bad', check: bad }] });
      const enforcement = createEnforcement({ monitor });
      const run = enforcement.beginRun();
      once(enforcement, is('call.refused'), () => end(run));
      const calls = ['bad', 'good', 'good'].map((tool) => watch(run.callTool(tool, {}, () => 1)));
      const outcomes = await Promise.all(calls.map((outcome) => outcome()));
      expect(outcomes).toMatchObject([
        { error: { code: 'check-refused' } },
        { error: { code: 'run-completed' } },
        { error: { code: 'run-completed' } },
      ]);
    });

    test('when OBSERVING is entered, or the call has ended: the call was made, and counts', async () => {
      for (const moment of [enters('OBSERVING'), is('call.ended')]) {
        const enforcement = createEnforcement();
        const run = enforcement.beginRun();
        once(enforcement, moment, () => end(run));
        expect(await run.callTool('search', {}, () => 'found')).toBe('found');
        expect(run.state).toMatchObject({ phase: 'ANSWERING', stepCount: 1, inFlight: 0 });
      }
    });

    test('when it was proposed to move: the run has ended', () => {
      const enforcement = createEnforcement();
      const run = enforcement.beginRun();
      once(enforcement, enters('PLANNING'), () => end(run));
      run.propose('PLANNING');
      expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true });
    });

    test('when the run has already ended: nothing happens again', () => {
      const enforcement = createEnforcement();
      const run = enforcement.beginRun();
      const ended: string[] = [];
      enforcement.on((event) => {
        if (event.type === 'run.ended') ended.push(event.run);
        end(run);
      });
      run.finish();
      expect(ended).toEqual([run.id]);
      expect(run.state.reason).toBeNull();
    });
  });
});

describe('SPEC §9: a listener that calls a tool from inside an event', () => {
  const moments: [string, (event: PhasegateEvent) => boolean][] = [
    ['PLANNING is entered', enters('PLANNING')],
    ['ACTING is entered', enters('ACTING')],
    ['a call is started', is('call.started', 'search')],
    ['OBSERVING is entered', enters('OBSERVING')],
    ['a call has ended', is('call.ended', 'search')],
  ];

  describe.each(moments)('when %s', (_, moment) => {
    test.each(['serialize', 'concurrent'] as const)(
      'both calls are made, both count, and none is a loop (parallel: %s)',
      async (parallel) => {
        const supervisor = createSupervisor({ maxLoopsPerPhase: 0 });
        const enforcement = createEnforcement({ supervisor, parallel });
        const run = enforcement.beginRun();
        let more: Promise<string> | undefined;
        const loops: unknown[] = [];
        const body = (answer: string) => () => {
          loops.push(run.state.loopCount);
          return answer;
        };
        once(enforcement, moment, () => {
          more = run.callTool('more', {}, body('more'), { parent: null });
        });
        expect(await run.callTool('search', {}, body('found'))).toBe('found');
        expect(await more).toBe('more');
        expect(loops).toEqual([{}, {}]);
        expect(run.state).toEqual({
          phase: 'OBSERVING',
          stepCount: 2,
          loopCount: {},
          inFlight: 0,
          finished: false,
          reason: null,
        });
      },
    );

    test('and ends it at once: no phase is entered to which the table does not lead', async () => {
      const enforcement = createEnforcement({ parallel: 'concurrent' });
      const run = enforcement.beginRun();
      const entered: string[] = [];
      enforcement.on((event) => {
        if (event.type === 'phase.entered') entered.push(`${event.from} > ${event.phase}`);
      });
      once(enforcement, moment, () => {
        const call = run.admit('more', {}, { parent: null });
        if (!(call instanceof Refusal || call instanceof Promise)) run.afterCall(call);
      });
      expect(await run.callTool('search', {}, () => run.state.phase)).toBe('ACTING');
      const legal = enforcement.supervisor.transitions.map((edge) => edge.join(' > '));
      expect(entered.filter((edge) => !legal.includes(edge))).toEqual([]);
      expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, loopCount: {}, inFlight: 0 });
    });

    test('the step budget holds', async () => {
      const supervisor = createSupervisor({ maxSteps: 1 });
      const enforcement = createEnforcement({ supervisor, parallel: 'concurrent' });
      const run = enforcement.beginRun();
      let started = 0;
      let more: (() => Promise<unknown>) | undefined;
      once(enforcement, moment, () => {
        more = watch(run.callTool('more', {}, () => ++started, { parent: null }));
      });
      await run.callTool('search', {}, () => ++started);
      expect(await more?.()).toMatchObject({ error: { code: 'step-budget' } });
      expect(started).toBe(1);
    });
  });

  test('when others wait: it takes its turn after them', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const order: string[] = [];
    const call = (tool: string) => run.callTool(tool, {}, () => order.push(tool), { parent: null });
    const first = await run.beforeCall('first');
    const calls = [call('second')];
    once(enforcement, enters('OBSERVING'), () => calls.push(call('third')));
    run.afterCall(first);
    await Promise.all(calls);
    expect(order).toEqual(['second', 'third']);
  });

  test('when another was refused: the budgets hold, and the run can go on', async () => {
    const bad = (call: { tool: string }) =>
      call.tool === 'bad' ? ({ allowed: false } as const) : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'no-bad', check: bad }] });
    const enforcement = createEnforcement({ monitor, supervisor: createSupervisor({ maxSteps: 1 }) });
    const run = enforcement.beginRun();
    let instead: Promise<unknown> | undefined;
    once(enforcement, is('call.refused'), () => {
      instead = run.callTool('instead', {}, () => 'found');
    });
    await refusalOf(run.callTool('bad', {}, () => 1));
    expect(await instead).toBe('found');
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
  });

  test('when the run moves into a terminal phase, or has ended: it is refused, with the stage on or off', async () => {
    for (const enabledChecks of [['dfa'], []]) {
      for (const moment of [enters('ANSWERING'), is('run.ended')]) {
        for (const end of [(run: Run) => run.finish(), (run: Run) => run.propose('ANSWERING')]) {
          const enforcement = createEnforcement({ enabledChecks });
          const run = enforcement.beginRun();
          run.propose('PLANNING');
          let started = false;
          let late: (() => Promise<unknown>) | undefined;
          once(enforcement, moment, () => {
            late = watch(
              run.callTool('late', {}, () => {
                started = true;
              }),
            );
          });
          end(run);
          expect(await late?.()).toMatchObject({ status: 'rejected' });
          expect(started).toBe(false);
          expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true, inFlight: 0 });
        }
      }
    }
  });

  test('and does so on every event: the budget stops it', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 5 }) });
    const run = enforcement.beginRun();
    let depth = 0;
    enforcement.on((event) => {
      if (event.type !== 'call.ended' || ++depth > 50) return;
      run.callTool('again', {}, () => 1).catch(() => {});
    });
    await run.callTool('search', {}, () => 1);
    await flush();
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 5, inFlight: 0 });
  });

  test('and runs out of stack: the run is left as a refusal leaves it', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 1 }) });
    const run = enforcement.beginRun();
    await run.callTool('search', {}, () => 1);
    const before = run.state;
    const off = enforcement.on(() => run.admit('again'));
    run.admit('again');
    off();
    expect(run.state).toEqual(before);
    expect(run.admit('again')).toBeInstanceOf(Refusal);
    run.finish();
    expect(run.state).toMatchObject({ phase: 'ANSWERING', inFlight: 0 });
  });
});

describe('SPEC §9: a listener that ends calls from inside an event', () => {
  test('while the run ends: every call that was reserved is refused, and the run stays ended', async () => {
    const answers = [gate<{ allowed: true }>(), gate<{ allowed: true }>()];
    const check = (call: { tool: string }) =>
      answers[['first', 'second'].indexOf(call.tool)]?.passed ?? ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check }] });
    const enforcement = createEnforcement({ monitor, parallel: 'concurrent' });
    const run = enforcement.beginRun();
    let started = 0;
    const first = watch(run.callTool('first', {}, () => ++started));
    const flying: Call = await run.beforeCall('flying');
    const second = watch(run.callTool('second', {}, () => ++started));
    once(enforcement, is('call.refused'), () => run.afterCall(flying));
    run.abort('stop');
    expect(await first()).toMatchObject({ error: { code: 'run-completed' } });
    expect(await second()).toMatchObject({ error: { code: 'run-completed' } });
    for (const answer of answers) answer.open({ allowed: true });
    await flush();
    expect(started).toBe(0);
    expect(run.state).toMatchObject({ phase: 'ANSWERING', stepCount: 0, inFlight: 0 });
  });

  test('when a call waits: its turn has come', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const first = await run.beforeCall('first');
    once(enforcement, is('call.waiting'), () => run.afterCall(first));
    expect(await outcomeOf(run.callTool('second', {}, () => 'ran'))).toEqual({
      status: 'fulfilled',
      value: 'ran',
    });
  });

  test('a second time, when it is told of the end: it counts once', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const call = await run.beforeCall('first');
    enforcement.on((event) => {
      if (event.type !== 'phase.entered' && event.type !== 'call.ended') return;
      run.afterCall(call);
      run.failCall(call);
    });
    run.afterCall(call);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
  });
});

function boom(): never {
  throw new Error('boom');
}

function thrown(value: unknown): never {
  throw value;
}

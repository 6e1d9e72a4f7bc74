import { describe, expect, test, vi } from 'vitest';
import { createActor, type InspectionEvent } from 'xstate';
import {
  createEnforcement,
  createSupervisor,
  type Enforcement,
  type EnforcementOptions,
  type PhaseActor,
  PhasegateError,
  type Run,
} from '../../src/index.ts';
import { counters, flush, refusalOf } from './helpers.ts';

/** An inspector that writes down what it is told, a line for each event, by the ids of the actors. */
function recorder() {
  const events: InspectionEvent[] = [];
  const inspect = (event: InspectionEvent) => {
    events.push(event);
  };
  return { inspect, events, lines: () => events.flatMap(lineOf) };
}

function lineOf(event: InspectionEvent): string[] {
  const actor = event.actorRef as PhaseActor;
  if (event.type === '@xstate.actor') {
    return [`${actor.id} begins${actor._parent === undefined ? '' : ` under ${actor._parent.id}`}`];
  }
  if (event.type === '@xstate.event') return [`${actor.id} < ${event.event.type}`];
  if (event.type === '@xstate.snapshot') {
    const { value, status, context } = event.snapshot as ReturnType<PhaseActor['getSnapshot']>;
    return [`${actor.id} = ${String(value)} ${context.stepCount} ${status}`];
  }
  return [];
}

/** Only what becomes of the runs: which begin, and which events they take. */
const hops = (lines: readonly string[]) =>
  lines.filter((line) => !line.includes(' = ') && !line.includes('< xstate.'));

const inspected = (options: EnforcementOptions = {}) => {
  const seen = recorder();
  return { ...seen, enforcement: createEnforcement({ inspect: seen.inspect, ...options }) };
};

/** A call whose body runs an agent in a child run. */
const delegate = (parent: Run, enforcement: Enforcement, id: string, agent: (child: Run) => unknown) =>
  parent.callTool('delegate', {}, (call) => enforcement.withRun(agent, { id, parent: call }));

describe('createEnforcement({ inspect })', () => {
  test('shows a run as an actor from its begin to its end: each hop as an event, and where it led', async () => {
    const { enforcement, lines } = inspected();
    await enforcement.withRun((run) => run.callTool('search', {}, () => 1), { id: 'r' });
    expect(lines()).toEqual([
      'r begins',
      'r < xstate.init',
      'r = IDLE 0 active',
      'r < propose.PLANNING',
      'r = PLANNING 0 active',
      'r < call.start',
      'r = ACTING 0 active',
      'r < call.succeed',
      'r = OBSERVING 1 active',
      'r < run.finish',
      'r = ANSWERING 1 done',
    ]);
  });

  test('tells what createActor tells, in the same shape', () => {
    const seen = recorder();
    const other = recorder();
    createActor(createSupervisor().machine, { id: 'r', inspect: other.inspect }).start();
    createEnforcement({ inspect: seen.inspect }).beginRun({ id: 'r' });
    const shapes = (events: readonly InspectionEvent[]) =>
      events.map((event) => [event.type, Object.keys(event).sort(), event.rootId === rootId(event)]);
    const rootId = ({ actorRef }: InspectionEvent) => actorRef.sessionId;
    expect(shapes(seen.events)).toEqual(shapes(other.events));
  });

  test('takes an observer too', () => {
    const seen = recorder();
    createEnforcement({ inspect: { next: seen.inspect } }).beginRun({ id: 'r' });
    expect(seen.lines()).toContain('r begins');
  });

  test('can read the actor as soon as it is told of one', async () => {
    const phases: unknown[] = [];
    const enforcement = createEnforcement({
      inspect: ({ type, actorRef }) => {
        if (type === '@xstate.actor') phases.push(actorRef.getSnapshot().value);
      },
    });
    await enforcement.withRun((run) => delegate(run, enforcement, 'child', () => 1));
    expect(phases).toEqual(['IDLE', 'IDLE']);
  });

  test('shows each run under a session of its own, and a child run under its parent', async () => {
    const { enforcement, events, lines } = inspected();
    await enforcement.withRun(
      async (run) => {
        await delegate(run, enforcement, 'child', async (child) => {
          await child.callTool('search', {}, () => 1);
          await delegate(child, enforcement, 'grandchild', () => 1);
        });
      },
      { id: 'root' },
    );
    await enforcement.withRun(() => 1, { id: 'other' });
    expect(hops(lines())).toEqual([
      'root begins',
      'root < propose.PLANNING',
      'root < call.start',
      'child begins under root',
      'child < propose.PLANNING',
      'child < call.start',
      'root < child.succeed',
      'child < call.succeed',
      'child < propose.PLANNING',
      'child < call.start',
      'grandchild begins under child',
      'grandchild < run.finish',
      'root < child.succeed',
      'child < call.succeed',
      'child < run.finish',
      'root < call.succeed',
      'root < run.finish',
      'other begins',
      'other < run.finish',
    ]);
    const sessions = events.flatMap(({ type, actorRef }) =>
      type === '@xstate.actor' ? actorRef.sessionId : [],
    );
    expect(new Set(sessions).size).toBe(4);
    expect(new Set(events.map(({ rootId }) => rootId))).toEqual(new Set([sessions[0], sessions[3]]));
  });

  test('the end of a child run, which XState tells its parent, moves nothing there', async () => {
    const { enforcement, lines } = inspected();
    const run = enforcement.beginRun({ id: 'root' });
    await delegate(run, enforcement, 'child', async (child) => {
      await child.callTool('search', {}, () => 1);
      child.finish();
      expect(run.actor.getSnapshot()).toMatchObject({ value: 'ACTING', status: 'active' });
    });
    expect(lines()).toContain('root < xstate.done.actor.child');
    expect(await run.callTool('search', {}, () => 2)).toBe(2);
    expect(run.validateActionPhase()).toMatchObject({ allowed: true });
  });

  test('the fault of a child’s actor refuses the calls of the child, and none of its parent', async () => {
    const { enforcement } = inspected();
    const run = enforcement.beginRun();
    const call = await run.beforeCall('delegate');
    const child = enforcement.beginRun({ parent: call });
    child.actor.send({ type: 'xstate.error.actor.none', error: new Error('broken') } as never);
    child.actor.send({ type: 'propose.PLANNING' });
    expect(await refusalOf(child.callTool('search', {}, () => 1))).toMatchObject({ code: 'actor-disagrees' });
    expect(await call.callTool('search', {}, () => 2)).toBe(2);
  });

  test('an end of the parent ends the actors of its child runs before its own', async () => {
    const { enforcement, lines } = inspected();
    const run = enforcement.beginRun({ id: 'root' });
    const call = await run.beforeCall('delegate');
    enforcement.beginRun({ id: 'child', parent: call });
    run.abort('enough');
    expect(lines().slice(-5)).toEqual([
      'root < xstate.done.actor.child',
      'root = ACTING 0 active',
      'child = ANSWERING 0 done',
      'root < run.abort',
      'root = ANSWERING 0 done',
    ]);
  });

  test('a run that is begun in one that has ended shows by itself, and ended', async () => {
    const warn = vi.spyOn(console, 'warn');
    const { enforcement, lines } = inspected();
    const run = enforcement.beginRun({ id: 'root' });
    const call = await run.beforeCall('delegate');
    run.finish();
    enforcement.beginRun({ id: 'late', parent: call });
    expect(hops(lines()).slice(-2)).toEqual(['late begins', 'late < run.abort']);
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  test('a run that is begun in one that has ended shows under the nearest that has not', async () => {
    const { enforcement, lines } = inspected();
    const run = enforcement.beginRun({ id: 'root' });
    const middle = enforcement.beginRun({ id: 'middle', parent: await run.beforeCall('delegate') });
    const call = await middle.beforeCall('delegate');
    middle.finish();
    enforcement.beginRun({ id: 'late', parent: call });
    expect(hops(lines()).slice(-2)).toEqual(['late begins under root', 'late < run.abort']);
  });

  test.each([null, 'x', {}, { next: 1 }])('refuses %j', (inspect) => {
    expect(() => createEnforcement({ inspect: inspect as never })).toThrow(PhasegateError);
    expect(() =>
      createEnforcement()
        .beginRun()
        .inspect(inspect as never),
    ).toThrow('inspect must be a function, or an object with a function next');
  });
});

describe('Where two enforcements meet', () => {
  test('each inspector sees the runs of its own, and what is inside of them', async () => {
    const outer = inspected();
    const inner = inspected();
    await outer.enforcement.withRun(
      (run) =>
        delegate(run, inner.enforcement, 'inner', (child) =>
          delegate(child, outer.enforcement, 'innermost', (last) => last.callTool('search', {}, () => 1)),
        ),
      { id: 'outer' },
    );
    const innermost = [
      'innermost begins under inner',
      'innermost < propose.PLANNING',
      'innermost < call.start',
    ];
    expect(hops(inner.lines()).slice(0, 6)).toEqual([
      'inner begins under outer',
      'inner < propose.PLANNING',
      'inner < call.start',
      ...innermost,
    ]);
    expect(inner.lines().filter((line) => line.startsWith('outer'))).toEqual([]);
    expect(hops(outer.lines()).filter((line) => line.includes('inner'))).toEqual(hops(inner.lines()));
  });

  test('one inspector of both is told once', async () => {
    const outer = inspected();
    const inner = createEnforcement({ inspect: outer.inspect });
    await outer.enforcement.withRun((run) => delegate(run, inner, 'inner', () => 1), { id: 'outer' });
    expect(outer.lines().filter((line) => line.startsWith('inner'))).toEqual([
      'inner begins under outer',
      'inner < xstate.init',
      'inner = IDLE 0 active',
      'inner < run.finish',
      'inner = ANSWERING 0 done',
    ]);
  });

  test('a child run with an inspector shows by itself in a run that has none', async () => {
    const outer = createEnforcement();
    const { enforcement, lines } = inspected();
    await outer.withRun((run) => delegate(run, enforcement, 'inner', () => 1));
    expect(hops(lines())).toEqual(['inner begins', 'inner < run.finish']);
  });
});

describe('run.inspect', () => {
  test('shows a live run as it is, and what becomes of it, until that is ended', async () => {
    const run = createEnforcement().beginRun({ id: 'r' });
    await run.callTool('search', {}, () => 1);
    const seen = recorder();
    const off = run.inspect(seen.inspect);
    run.propose('PLANNING');
    off();
    off();
    run.finish();
    expect(seen.lines()).toEqual([
      'r begins',
      'r = OBSERVING 1 active',
      'r < propose.PLANNING',
      'r = PLANNING 1 active',
    ]);
  });

  test('shows the child runs that are live and that come, and nothing of the runs around it', async () => {
    const enforcement = createEnforcement();
    const root = inspected();
    const seen = recorder();
    await root.enforcement.withRun(
      (run) =>
        delegate(run, enforcement, 'middle', async (middle) => {
          await delegate(middle, enforcement, 'before', () => middle.inspect(seen.inspect));
          await delegate(middle, enforcement, 'after', () => 1);
        }),
      { id: 'root' },
    );
    expect(hops(seen.lines())).toEqual([
      'middle begins under root',
      'before begins under middle',
      'before < run.finish',
      'middle < call.succeed',
      'middle < propose.PLANNING',
      'middle < call.start',
      'after begins under middle',
      'after < run.finish',
      'middle < call.succeed',
      'middle < run.finish',
    ]);
  });

  test('shows the whole tree of live runs, none of which had an actor before', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun({ id: 'root' });
    const seen = recorder();
    await delegate(run, enforcement, 'between', (between) =>
      delegate(between, enforcement, 'child', () => run.inspect(seen.inspect)),
    );
    expect(seen.lines().slice(0, 6)).toEqual([
      'root begins',
      'root = ACTING 0 active',
      'between begins under root',
      'between = ACTING 0 active',
      'child begins under between',
      'child = IDLE 0 active',
    ]);
    expect(hops(seen.lines())).toContain('child < run.finish');
  });

  test('leaves alone a child run that was asked for its actor before, and shows what is inside of that one', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun({ id: 'root' });
    const seen = recorder();
    await delegate(run, enforcement, 'alone', async (alone) => {
      void alone.actor;
      run.inspect(seen.inspect);
      await delegate(alone, enforcement, 'child', () => 1);
    });
    expect(hops(seen.lines()).filter((line) => line.includes('begins'))).toEqual([
      'root begins',
      'child begins under root',
    ]);
  });

  test('shows a run that has ended as it ended', () => {
    const run = createEnforcement().beginRun({ id: 'r' });
    run.abort('enough');
    const seen = recorder();
    run.inspect(seen.inspect);
    expect(seen.lines()).toEqual(['r begins', 'r = ANSWERING 0 done']);
    expect(seen.events.at(-1)).toMatchObject({ snapshot: { context: { reason: 'enough' } } });
  });

  test('beside the inspector of the enforcement, and of others: each is told all of it', () => {
    const { enforcement, lines } = inspected();
    const run = enforcement.beginRun({ id: 'r' });
    const [one, two] = [recorder(), recorder()];
    const off = run.inspect(one.inspect);
    run.inspect(two.inspect);
    run.propose('PLANNING');
    off();
    run.finish();
    expect(hops(lines())).toEqual(['r begins', 'r < propose.PLANNING', 'r < run.finish']);
    expect(hops(one.lines())).toEqual(['r begins', 'r < propose.PLANNING']);
    expect(hops(two.lines())).toEqual(['r begins', 'r < propose.PLANNING', 'r < run.finish']);
  });

  test('leaves nothing behind in the system of the parent once the child run has ended', async () => {
    const outer = inspected();
    const inner = inspected();
    const run = outer.enforcement.beginRun();
    const call = await run.beforeCall('delegate');
    const { system } = run.actor;
    const subscribe = system.inspect;
    let observers = 0;
    system.inspect = (inspect) => {
      observers += 1;
      const { unsubscribe } = subscribe(inspect);
      return {
        unsubscribe() {
          observers -= 1;
          unsubscribe();
        },
      };
    };
    const child = inner.enforcement.beginRun({ parent: call });
    expect(observers).toBe(1);
    child.finish();
    expect(observers).toBe(0);
    expect(inner.lines().at(-1)).toMatch('= ANSWERING 0 done');
    const late = recorder();
    run.inspect(late.inspect);
    expect(late.lines().filter((line) => line.includes('begins'))).toHaveLength(1);
  });
});

describe('Without an inspector', () => {
  test('no actor is made, neither of a run nor of its child runs', async () => {
    const { machine } = createSupervisor();
    const made = vi.spyOn(Object.getPrototypeOf(machine), 'resolveState');
    const enforcement = createEnforcement();
    await enforcement.withRun(async (run) => {
      await delegate(run, enforcement, 'child', (child) => child.callTool('search', {}, () => 1));
      expect(made).not.toHaveBeenCalled();
      void run.actor;
      expect(made).toHaveBeenCalled();
    });
    made.mockRestore();
  });

  test('a run whose actor is asked for makes none of its child runs', async () => {
    const { machine } = createSupervisor();
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    void run.actor;
    const made = vi.spyOn(Object.getPrototypeOf(machine), 'restoreSnapshot');
    await delegate(run, enforcement, 'child', (child) => child.callTool('search', {}, () => 1));
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
  });
});

describe('An inspector harms no decision', () => {
  const throwing = () => {
    throw new Error('the inspector is broken');
  };
  const rejecting = async () => throwing();
  const sleeping = () => new Promise<void>(() => {});
  const nonsense = () => Object.defineProperty({}, 'then', { get: throwing });

  /** What a run with a child run does, and how it ends: the same whoever looks on. */
  async function story(options: EnforcementOptions, attach?: (run: Run) => void) {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 3 }), ...options });
    const told: unknown[] = [];
    enforcement.on(({ type, run }) => told.push([type, run]));
    const run = enforcement.beginRun({ id: 'root' });
    attach?.(run);
    const outcomes = [
      await run.callTool('search', {}, () => 1),
      await delegate(run, enforcement, 'child', async (child) => {
        attach?.(child);
        await child.callTool('search', {}, () => 2);
      }),
      (await refusalOf(run.callTool('search', {}, () => 3))).code,
    ];
    run.finish();
    return { outcomes, told, state: run.state };
  }

  test.each([
    ['throws', throwing],
    ['rejects', rejecting],
    ['never settles', sleeping],
    ['returns what throws when looked at', nonsense],
  ] as const)('that %s', async (_, inspect) => {
    const alone = await story({});
    expect(await story({ inspect })).toEqual(alone);
    expect(await story({}, (run) => run.inspect(inspect))).toEqual(alone);
    // Nothing is left to be rejected with no one to hear of it.
    await flush();
  });

  test('that throws leaves the others and their view whole', async () => {
    const run = createEnforcement({ inspect: throwing }).beginRun({ id: 'r' });
    const seen = recorder();
    run.inspect(throwing);
    run.inspect(seen.inspect);
    await run.callTool('search', {}, () => 1);
    expect(seen.lines().at(-1)).toBe('r = OBSERVING 1 active');
    expect(run.actor.getSnapshot()).toMatchObject({ value: 'OBSERVING', status: 'active' });
  });

  test('that calls a tool in turn: both calls are made, and actor and run agree', async () => {
    const inner: Promise<unknown>[] = [];
    let run: Run | undefined;
    const seen = recorder();
    const enforcement = createEnforcement({
      parallel: 'concurrent',
      inspect: (event) => {
        seen.inspect(event);
        if (event.type !== '@xstate.event' || event.event.type !== 'call.start' || inner.length > 0) return;
        inner.push(Promise.resolve());
        inner.push((run as Run).callTool('again', {}, () => 2));
      },
    });
    run = enforcement.beginRun({ id: 'r' });
    expect(await run.callTool('search', {}, () => 1)).toBe(1);
    await Promise.all(inner);
    const { value, context } = run.actor.getSnapshot();
    expect([value, context.stepCount, context.inFlight]).toEqual(['OBSERVING', 2, 0]);
    expect(counters(run.state)).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
    expect(run.validateActionPhase()).toMatchObject({ allowed: true });
    expect(hops(seen.lines()).filter((line) => line.endsWith('call.succeed'))).toHaveLength(2);
  });

  test.each(['@xstate.event', '@xstate.snapshot', '@xstate.microstep'] as const)(
    'that ends the run at its first %s of a call: no body starts, and the actor has ended with it',
    async (type) => {
      const run = createEnforcement().beginRun();
      run.inspect((event) => {
        const { phase } = run.state;
        if (event.type === type && phase === 'ACTING') run.abort('seen enough');
      });
      let started = 0;
      expect(await refusalOf(run.callTool('search', {}, () => ++started))).toMatchObject({
        code: 'run-completed',
      });
      expect(started).toBe(0);
      expect(run.actor.getSnapshot()).toMatchObject({ value: 'ANSWERING', status: 'done' });
    },
  );

  test('that moves the run as soon as it is told of its actor', async () => {
    const run = createEnforcement().beginRun({ id: 'r' });
    const seen = recorder();
    run.inspect((event) => {
      seen.inspect(event);
      if (event.type === '@xstate.actor') run.propose('PLANNING');
    });
    expect(seen.lines()).toEqual([
      'r begins',
      'r < propose.PLANNING',
      'r = PLANNING 0 active',
      'r = PLANNING 0 active',
    ]);
    expect(await run.callTool('search', {}, () => 1)).toBe(1);
  });

  test('that ends the parent while a child run begins: both have ended, and so have their actors', async () => {
    // XState's development build warns of what the child's actor still tells that of its parent.
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    let parent: Run | undefined;
    const enforcement = createEnforcement({
      inspect: (event) => {
        if (event.type === '@xstate.actor' && (event.actorRef as PhaseActor).id === 'child')
          parent?.abort('enough');
      },
    });
    parent = enforcement.beginRun({ id: 'root' });
    const child = enforcement.beginRun({ id: 'child', parent: await parent.beforeCall('delegate') });
    expect(child.state).toMatchObject({ finished: true, reason: 'enough' });
    expect(child.actor.getSnapshot()).toMatchObject({ value: 'ANSWERING', status: 'done' });
    expect(parent.actor.getSnapshot()).toMatchObject({ value: 'ANSWERING', status: 'done' });
    warn.mockRestore();
  });

  test('that attaches another in turn, or ends itself', async () => {
    const run = createEnforcement().beginRun({ id: 'r' });
    const late = recorder();
    const told: string[] = [];
    const off = run.inspect((event) => {
      if (event.type !== '@xstate.event') return;
      told.push(event.event.type);
      run.inspect(late.inspect);
      off();
    });
    await run.callTool('search', {}, () => 1);
    expect(told).toEqual(['propose.PLANNING']);
    expect(hops(late.lines())).toEqual([
      'r begins',
      'r < propose.PLANNING',
      'r < call.start',
      'r < call.succeed',
    ]);
  });
});

// XState's own way stays open, and is not shielded: a fault there is one that the run is refused for.
test('an inspector given to the actor’s system by itself is XState’s affair', () => {
  const run = createEnforcement().beginRun();
  run.actor.system.inspect(() => {
    throw new Error('broken');
  });
  run.propose('PLANNING');
  expect(run.admit('search')).toMatchObject({ code: 'actor-disagrees' });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Call, createEnforcement, type PhasegateEvent, type Run } from '../../src/index.ts';
import { RunModel, type RunTrack } from '../../src/inspect/run-model.ts';
import { program, type Spectator, World } from '../core/program.ts';

const RUN = { run: 'r', time: 1 };

/** Events of a run: two calls after another, the second of which is refused, with a nested call in the first. */
const STREAM = [
  { ...RUN, type: 'run.started', parent: null, call: null, maxSteps: 2, maxLoopsPerPhase: null, key: 'k/1' },
  { ...RUN, type: 'phase.entered', from: 'IDLE', phase: 'PLANNING' },
  { ...RUN, type: 'phase.entered', from: 'PLANNING', phase: 'ACTING' },
  { ...RUN, type: 'call.started', call: 'a', seq: 1, tool: 'search', parent: null },
  { ...RUN, type: 'phase.entered', from: 'ACTING', phase: 'ACTING' },
  { ...RUN, type: 'call.started', call: 'b', seq: 2, tool: 'read', parent: 'a' },
  { ...RUN, type: 'call.waiting', call: 'a', seq: 3, tool: 'write' },
  { ...RUN, type: 'call.ended', call: 'b', seq: 2, tool: 'read', ok: false, error: { message: 'gone' } },
  { ...RUN, type: 'phase.entered', from: 'ACTING', phase: 'OBSERVING' },
  { ...RUN, type: 'call.ended', call: 'a', seq: 1, tool: 'search', ok: true, late: false },
  {
    ...RUN,
    type: 'call.refused',
    call: 'a',
    seq: 3,
    tool: 'write',
    code: 'step-budget',
    message: 'No',
    stage: 'dfa',
  },
  { ...RUN, type: 'phase.entered', from: 'OBSERVING', phase: 'ANSWERING' },
  { ...RUN, type: 'run.ended', phase: 'ANSWERING', reason: null, stepCount: 1 },
];

function modelOf(events: readonly unknown[]): RunModel {
  const model = new RunModel();
  model.append(events);
  return model;
}

function rootOf(events: readonly unknown[]): RunTrack {
  const { root } = modelOf(events);
  if (root === null) throw new Error('the stream tells of no run');
  return root;
}

describe('the state of a run after each of its events', () => {
  const root = rootOf(STREAM);

  it('says in which phase it was, and along which hops it came there', () => {
    const phases = STREAM.map((_, index) => root.at(index)?.phase);
    expect(phases.slice(0, 5)).toEqual(['IDLE', 'PLANNING', 'ACTING', 'ACTING', 'ACTING']);
    expect(root.at(3)?.hops).toEqual(['IDLE', 'PLANNING', 'ACTING']);
    expect(root.at(5)?.hops).toEqual(['ACTING', 'ACTING']);
    expect(root.at(9)?.hops).toEqual(['ACTING', 'OBSERVING']);
  });

  it('counts calls, steps, loops and refusals as they were then', () => {
    expect(root.at(6)).toMatchObject({ inFlight: 2, waiting: 1, loopCount: 1, calls: 3, stepCount: 0 });
    expect(root.at(12)).toMatchObject({ inFlight: 0, waiting: 0, refused: 1, failed: 1, stepCount: 1 });
    expect(root.at(12)?.finished).toBe(true);
    expect(root.at(11)?.finished).toBe(false);
    expect(root.at(-1)).toBeNull();
  });

  it('tells calls of one id apart by their numbers, and when each of them was asked for, begun and ended', () => {
    const states = (index: number) => root.calls.map((call) => call.stateAt(index));
    expect(root.calls.map(({ tool, parent }) => [tool, parent?.tool ?? null])).toEqual([
      ['search', null],
      ['read', 'search'],
      ['write', null],
    ]);
    expect(states(2)).toEqual([null, null, null]);
    expect(states(6)).toEqual(['in-flight', 'in-flight', 'waiting']);
    expect(states(12)).toEqual(['ended', 'failed', 'refused']);
    expect(root.callsAt(5)).toHaveLength(2);
    expect(root.calls[1]?.error).toBe('gone');
    expect(root.lastRefused?.refusal).toEqual({ code: 'step-budget', message: 'No', stage: 'dfa' });
  });

  it('has a call wait for its checks as for its turn', () => {
    const call = { ...RUN, call: 'a', seq: 1, tool: 'search' };
    const root = rootOf([
      { ...call, type: 'call.waiting' },
      { ...call, type: 'call.reserved', parent: null },
      { ...RUN, type: 'call.reserved', call: 'b', seq: 2, tool: 'read', parent: null },
      { ...call, type: 'call.started', parent: null },
    ]);
    expect([0, 1, 2, 3].map((index) => root.at(index)?.waiting)).toEqual([1, 1, 2, 1]);
    expect(root.calls.map((call) => call.stateAt(3))).toEqual(['in-flight', 'waiting']);
  });

  it('needs no past where none is asked for', () => {
    const model = new RunModel({ history: false });
    model.append(STREAM);
    expect(model.root?.now).toEqual(root.now);
    expect(model.root?.calls).toEqual([]);
  });
});

describe('child runs', () => {
  const child = (budget: string) => [
    ...STREAM.slice(0, 4),
    { run: 'c', time: 2, type: 'run.started', parent: 'r', call: 'a', budget },
    { run: 'c', time: 3, type: 'call.started', call: 'x', tool: 'fetch', parent: null },
    { run: 'c', time: 4, type: 'call.ended', call: 'x', tool: 'fetch', ok: true, late: false },
  ];

  it('lie in the call that began them, and raise the step count of the runs around them', () => {
    const root = rootOf(child('shared'));
    expect(root.calls[0]?.children.map(({ id }) => id)).toEqual(['c']);
    expect([root.at(5)?.stepCount, root.at(6)?.stepCount]).toEqual([0, 1]);
  });

  it('leave it alone where their budget is their own', () => {
    expect(rootOf(child('own')).now.stepCount).toBe(0);
  });

  it('of the same name are different runs', () => {
    const { runs } = modelOf([...child('shared'), ...child('shared').slice(4)]);
    expect(runs.map(({ id, now }) => [id, now.stepCount])).toEqual([
      ['r', 2],
      ['c', 1],
      ['c', 1],
    ]);
  });
});

describe('what the events amount to', () => {
  /** Compares each run with what a model of all events says, read from their JSON. */
  function spectator(required: boolean): Spectator {
    const model = new RunModel();
    return {
      required,
      listen: (event) => model.append([JSON.parse(JSON.stringify(event))]),
      look: ({ id, state }: Run) => {
        const { phase, stepCount, inFlight, finished, reason } = state;
        const [loopCount = 0] = Object.values(state.loopCount);
        const wanted = { phase, stepCount, inFlight, finished, reason, ...(!finished && { loopCount }) };
        const now = model.runs.findLast((run) => run.id === id)?.now;
        const got = now && Object.fromEntries(Object.keys(wanted).map((key) => [key, now[key as 'phase']]));
        if (JSON.stringify(got) === JSON.stringify(wanted)) return undefined;
        return `${id} is ${JSON.stringify(wanted)}, and to the model ${JSON.stringify(got)}`;
      },
    };
  }

  it('is the state of the run, whatever agents do and whoever refuses their calls', {
    timeout: 60_000,
  }, async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), program, async (s, program) => {
        const world = new World(s, program, spectator(false), spectator(true));
        await world.run();
        expect(world.faults).toEqual([]);
      }),
      { numRuns: 200 },
    );
  });
});

describe('a run that was saved', () => {
  /** What a model is told of a run that is saved with a call and a nested one in flight, and resumed. */
  function resumedBy(model: RunModel, inFlight: 'keep' | 'interrupt', hears: 'all' | 'the rest') {
    const enforcement = createEnforcement();
    const listen = (event: PhasegateEvent) => model.append([JSON.parse(JSON.stringify(event))]);
    if (hears === 'all') enforcement.on(listen);
    const run = enforcement.beginRun({ id: 'saved' });
    const outer = run.admit('outer') as Call;
    run.admit('nested', undefined, { parent: outer });
    const saved = JSON.parse(JSON.stringify(run.save()));
    const elsewhere = createEnforcement();
    elsewhere.on(listen);
    return elsewhere.resumeRun(saved, { inFlight });
  }

  it.each([
    ['keep', 'all'],
    ['keep', 'the rest'],
    ['interrupt', 'all'],
    ['interrupt', 'the rest'],
  ] as const)('goes on from where it was: %s its calls, where %s is heard', (inFlight, hears) => {
    const model = new RunModel();
    const { state } = resumedBy(model, inFlight, hears);
    const [run, ...others] = model.runs;
    expect(others).toEqual([]);
    const { phase, stepCount, finished } = state;
    expect(run?.now).toMatchObject({ phase, stepCount, finished, inFlight: state.inFlight, calls: 2 });
    expect(run?.calls.map(({ tool, parent }) => [tool, parent?.tool])).toEqual([
      ['outer', undefined],
      ['nested', 'outer'],
    ]);
    expect(run?.calls.map(({ interrupted }) => interrupted)).toEqual(Array(2).fill(inFlight === 'interrupt'));
  });

  it('is the same run where it had ended when it was saved, however often it is looked at', () => {
    const model = new RunModel();
    const enforcement = createEnforcement();
    enforcement.on((event) => model.append([event]));
    const run = enforcement.beginRun({ id: 'ended' });
    run.abort('enough');
    for (let i = 0; i < 3; i++) enforcement.resumeRun(run.save());
    expect(model.runs).toHaveLength(1);
    expect(model.root?.now).toMatchObject({ finished: true, reason: 'enough' });
    enforcement.beginRun({ id: 'ended' });
    expect(model.runs).toHaveLength(2);
  });
});

describe('a stream that is not as it should be', () => {
  it('is taken up in the middle of a run, and put right by what its events say', () => {
    const { now } = rootOf([
      { ...RUN, type: 'call.ended', call: 'a', seq: 7, tool: 'search', ok: true, stepCount: 7 },
      { ...RUN, type: 'call.started', call: 'b', seq: 9, tool: 'search', stepCount: 8, loopCount: 2 },
    ]);
    expect(now).toMatchObject({ phase: 'ACTING', stepCount: 8, loopCount: 2, inFlight: 1 });
  });

  const names = fc.constantFrom('r', 'c', '__proto__', 'constructor', 'a');
  const value = fc.oneof(names, fc.anything());
  const event = fc.oneof(
    fc.anything(),
    fc.record(
      {
        type: fc.oneof(fc.constantFrom(...new Set(STREAM.map(({ type }) => type))), fc.anything()),
        run: fc.oneof(names, fc.anything()),
        ...Object.fromEntries(
          [
            ...[
              'time',
              'parent',
              'call',
              'seq',
              'tool',
              'from',
              'phase',
              'ok',
              'late',
              'error',
              'code',
              'stage',
            ],
            ...[
              'message',
              'reason',
              'stepCount',
              'loopCount',
              'maxSteps',
              'budget',
              'transitions',
              'dfa',
              'key',
              'resumed',
            ],
          ].map((field) => [field, value]),
        ),
      },
      { requiredKeys: ['type', 'run'] },
    ),
  );

  it('makes no model throw, nor does it leave a trace on anything else', () => {
    const before = Object.getOwnPropertyNames(Object.prototype);
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const model = modelOf(events);
        expect(model.length).toBe(events.length);
        for (const run of model.runs) {
          expect(run.at(events.length)).toBe(run.now);
          for (const call of run.calls) expect(call.stateAt(events.length)).not.toBeNull();
        }
      }),
    );
    expect(Object.getOwnPropertyNames(Object.prototype)).toEqual(before);
  });
});

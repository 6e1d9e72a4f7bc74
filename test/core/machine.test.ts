import { describe, expect, test } from 'vitest';
import { createActor, initialTransition, type SnapshotFrom, transition } from 'xstate';
import { phaseMachine as literal } from '../../machines/phase.machine.ts';
import {
  createSupervisor,
  phaseMachine as exportedMachine,
  type PhaseEvent,
  type PhaseMachine,
} from '../../src/index.ts';
import { phaseMachineConfig } from '../../src/machine.ts';

// The literal has a type of its own, with its seven phases in it.
const phaseMachine = literal as unknown as PhaseMachine;
const to = (target: string): PhaseEvent => ({ type: `propose.${target}` });
const start: PhaseEvent = { type: 'call.start' };
const join: PhaseEvent = { type: 'call.join' };
const succeed: PhaseEvent = { type: 'call.succeed' };
const fail: PhaseEvent = { type: 'call.fail' };

/** Sends the events to an actor of the machine, and answers where it is then. */
function sent(machine: PhaseMachine, ...events: PhaseEvent[]) {
  const actor = createActor(machine).start();
  for (const event of events) actor.send(event);
  const { status, value, context } = actor.getSnapshot();
  const { stepCount, loopCount, inFlight, reason } = context;
  const loops = Object.fromEntries(Object.entries(loopCount).filter(([, count]) => count !== 0));
  return { status, phase: value, stepCount, loops, inFlight, reason };
}

function machineOf(options: Parameters<typeof createSupervisor>[0]): PhaseMachine {
  return createSupervisor(options).machine;
}

const CALL = [to('PLANNING'), start, succeed];

describe('The default machine as a literal', () => {
  test('is what the default table builds', () => {
    expect(phaseMachineConfig(createSupervisor().rules)).toEqual(phaseMachine.config);
    expect(exportedMachine).toBe(phaseMachine);
  });

  test('says what it waits for in every state, for people and for editors', () => {
    for (const state of Object.values(phaseMachine.states)) expect(state.description).toMatch(/\.$/);
  });

  test('is plain data: what is written as JSON and read again is the same', () => {
    expect(JSON.parse(JSON.stringify(phaseMachine.config))).toEqual(phaseMachine.config);
  });

  test('names only guards and actions that it has', () => {
    const config = JSON.stringify(phaseMachine.config);
    const named = [...config.matchAll(/"(?:guard|actions)":("[^"]*"|\[[^\]]*\]|\{[^}]*\})/g)];
    const names = named.flatMap(([, value]) => [...(value as string).matchAll(/"([a-z][A-Za-z]+)"/g)]);
    const known = [
      ...Object.keys(phaseMachine.implementations.guards),
      ...Object.keys(phaseMachine.implementations.actions),
      'type',
      'params',
      'phase',
    ];
    expect(names.length).toBeGreaterThan(20);
    for (const [, name] of names) expect(known).toContain(name);
  });
});

describe('createActor(phaseMachine), on its own in an app', () => {
  test('begins in IDLE with every counter at 0, that of each phase as well', () => {
    expect(sent(phaseMachine)).toEqual({
      status: 'active',
      phase: 'IDLE',
      stepCount: 0,
      loops: {},
      inFlight: 0,
      reason: null,
    });
    expect(Object.keys(createActor(phaseMachine).getSnapshot().context.loopCount)).toHaveLength(7);
  });

  test('goes along the legal edges and counts what was executed', () => {
    expect(sent(phaseMachine, ...CALL)).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
    expect(sent(phaseMachine, ...CALL, to('ANSWERING'))).toMatchObject({
      phase: 'ANSWERING',
      status: 'done',
    });
  });

  test('refuses an illegal transition, and an event that it does not know: nothing changes', () => {
    const before = sent(phaseMachine, ...CALL);
    for (const type of ['propose.ACTING', 'propose.IDLE', 'propose.FOO', 'propose.', 'propose.constructor']) {
      expect(sent(phaseMachine, ...CALL, { type } as PhaseEvent)).toEqual(before);
    }
    for (const type of ['', 'call', 'call.*', 'propose.*', 'OBSERVING', '__proto__', 'toString']) {
      expect(sent(phaseMachine, ...CALL, { type } as PhaseEvent)).toEqual(before);
    }
  });

  test('refuses the call after the last step (SPEC §2.1)', () => {
    const machine = machineOf({ maxSteps: 2 });
    const spent = sent(machine, ...CALL, ...CALL);
    expect(spent).toMatchObject({ phase: 'OBSERVING', stepCount: 2 });
    expect(sent(machine, ...CALL, ...CALL, ...CALL)).toEqual(spent);
  });

  test('counts calls in flight in the step budget', () => {
    const machine = machineOf({ maxSteps: 2, maxLoopsPerPhase: 9 });
    const acting = [to('PLANNING'), start];
    expect(sent(machine, ...acting, start, start)).toMatchObject({ inFlight: 2, loops: { ACTING: 1 } });
    expect(sent(machine, ...acting, join, join)).toMatchObject({ inFlight: 2, loops: {} });
  });

  test('refuses the self-loop after the last (SPEC §2.2)', () => {
    const acting = [to('PLANNING'), start];
    expect(sent(phaseMachine, ...acting, start, start, start, start)).toMatchObject({
      inFlight: 4,
      loops: { ACTING: 3 },
    });
    // One after another as well: the loop budget is not given back when a nested call ends.
    const nested = [start, succeed];
    expect(sent(phaseMachine, ...acting, ...nested, ...nested, ...nested, ...nested)).toMatchObject({
      inFlight: 0,
      stepCount: 4,
      phase: 'OBSERVING',
    });
  });

  test('keeps the phase until the last call in flight ends, and then observes (SPEC §5.5)', () => {
    const nested = [to('PLANNING'), start, start];
    expect(sent(phaseMachine, ...nested, succeed)).toMatchObject({ phase: 'ACTING', inFlight: 1 });
    expect(sent(phaseMachine, ...nested, succeed, succeed)).toMatchObject({
      phase: 'OBSERVING',
      inFlight: 0,
      loops: {},
    });
  });

  test('holds in ACTING after a failure, and the retries are self-loops; unless onToolError is observe', () => {
    const failed = [to('PLANNING'), start, fail];
    expect(sent(phaseMachine, ...failed)).toMatchObject({ phase: 'ACTING', stepCount: 0, inFlight: 0 });
    expect(sent(phaseMachine, ...failed, start)).toMatchObject({ loops: { ACTING: 1 } });
    expect(sent(machineOf({ onToolError: 'observe' }), ...failed)).toMatchObject({ phase: 'OBSERVING' });
  });

  test('ends no call that is not there', () => {
    const observing = sent(phaseMachine, ...CALL);
    expect(sent(phaseMachine, ...CALL, succeed, fail)).toEqual(observing);
    expect(sent(phaseMachine, succeed, fail, join)).toEqual(sent(phaseMachine));
  });

  test('refuses a proposal while a call is in flight (SPEC §3.2)', () => {
    const acting = [to('PLANNING'), start];
    expect(sent(phaseMachine, ...acting, to('OBSERVING'))).toEqual(sent(phaseMachine, ...acting));
    expect(sent(phaseMachine, ...acting, fail, to('OBSERVING'))).toMatchObject({ phase: 'OBSERVING' });
  });

  test('ends once and stays ended (SPEC §6)', () => {
    const ended = sent(phaseMachine, to('PLANNING'), { type: 'run.abort', reason: 'the user left' });
    expect(ended).toMatchObject({ status: 'done', phase: 'ANSWERING', reason: 'the user left' });
    const later: PhaseEvent[] = [
      { type: 'run.abort', reason: 'again' },
      { type: 'run.finish' },
      to('PLANNING'),
      start,
      succeed,
    ];
    expect(
      sent(phaseMachine, to('PLANNING'), { type: 'run.abort', reason: 'the user left' }, ...later),
    ).toEqual(ended);
  });

  test('goes into EXHAUSTED and REJECTED only where the rules say so (SPEC §6.5)', () => {
    const exhaust: PhaseEvent = { type: 'run.exhaust', reason: 'Step budget exhausted: 1/1' };
    const reject: PhaseEvent = { type: 'run.reject', reason: 'no' };
    expect(sent(machineOf({ maxSteps: 1 }), ...CALL, exhaust, reject)).toMatchObject({ phase: 'OBSERVING' });
    const machine = machineOf({ maxSteps: 1, onBudgetExhausted: 'terminate', onRejected: 'terminate' });
    expect(sent(machine, ...CALL, exhaust)).toMatchObject({ phase: 'EXHAUSTED', reason: exhaust.reason });
    expect(sent(machine, exhaust)).toMatchObject({ phase: 'IDLE' });
    expect(sent(machine, to('PLANNING'), start, exhaust, reject)).toMatchObject({ phase: 'ACTING' });
    expect(sent(machine, ...CALL, reject)).toMatchObject({ phase: 'REJECTED', reason: 'no' });
  });
});

describe('Traps of XState that the machine must not fall into', () => {
  const restored = (machine: PhaseMachine, context: object, value = 'OBSERVING') =>
    machine.resolveState({
      value,
      context: { ...machine.getInitialSnapshot(undefined as never).context, ...context } as never,
    });
  const next = (machine: PhaseMachine, snapshot: SnapshotFrom<PhaseMachine>, event: PhaseEvent) =>
    transition(machine, snapshot, event)[0];

  test('a counter that is no number admits nothing, also without a budget', () => {
    const endless = machineOf({
      maxSteps: Number.POSITIVE_INFINITY,
      maxLoopsPerPhase: Number.POSITIVE_INFINITY,
    });
    for (const machine of [phaseMachine, endless]) {
      for (const stepCount of [Number.NaN, undefined, 'few']) {
        expect(next(machine, restored(machine, { stepCount }), to('PLANNING')).value).toBe('OBSERVING');
        const acting = next(machine, restored(machine, { stepCount }, 'ACTING'), start);
        expect(acting.context.inFlight).toBe(0);
      }
      const noLoops = next(machine, restored(machine, { loopCount: {} }, 'ACTING'), start);
      expect(noLoops.context.inFlight).toBe(0);
    }
  });

  test('a missing budget admits nothing', () => {
    const snapshot = restored(phaseMachine, { maxSteps: undefined });
    expect(next(phaseMachine, snapshot, to('PLANNING')).value).toBe('OBSERVING');
  });

  test('no guard throws: whatever the counters, the actor stays active', () => {
    for (const context of [{ loopCount: {} }, { stepCount: null }, { inFlight: 'one' }]) {
      for (const event of [start, join, succeed, fail, to('OBSERVING')]) {
        expect(next(phaseMachine, restored(phaseMachine, context, 'ACTING'), event).status).toBe('active');
      }
    }
  });

  test('every counter is there from the start, so that exploration sees each state once', () => {
    const [initial] = initialTransition(machineOf({ phases: ['REVIEWING'] }));
    expect(initial.context.loopCount).toEqual({
      IDLE: 0,
      PLANNING: 0,
      ACTING: 0,
      OBSERVING: 0,
      ANSWERING: 0,
      REJECTED: 0,
      EXHAUSTED: 0,
      REVIEWING: 0,
    });
  });

  test('a restored snapshot goes on from where it was, its counters too', () => {
    const actor = createActor(phaseMachine).start();
    for (const event of [...CALL, to('PLANNING'), start]) actor.send(event);
    const saved = JSON.parse(JSON.stringify(actor.getPersistedSnapshot()));
    const again = createActor(phaseMachine, { snapshot: saved }).start();
    again.send(succeed);
    expect(again.getSnapshot()).toMatchObject({ value: 'OBSERVING', context: { stepCount: 2, inFlight: 0 } });
  });
});

describe('SPEC §1.4: the machine of an edited table', () => {
  test('is another one, and the old one keeps its edges', () => {
    const supervisor = createSupervisor();
    const { machine } = supervisor;
    expect(supervisor.machine).toBe(machine);
    supervisor.addTransition('OBSERVING', 'ACTING');
    expect(supervisor.machine).not.toBe(machine);
    const again = [...CALL, start];
    expect(sent(supervisor.machine, ...again)).toMatchObject({ phase: 'ACTING', inFlight: 1 });
    expect(sent(machine, ...again)).toMatchObject({ phase: 'OBSERVING', inFlight: 0 });
  });

  test('has the phases of the user, between which the rules hold as well', () => {
    const machine = machineOf({
      phases: ['REVIEWING'],
      transitions: [
        ['IDLE', 'REVIEWING'],
        ['REVIEWING', 'REVIEWING'],
        ['REVIEWING', 'ACTING'],
      ],
    });
    const review = to('REVIEWING');
    expect(sent(machine, review, review, review, review)).toMatchObject({ loops: { REVIEWING: 3 } });
    expect(sent(machine, review, review, review, review, review)).toMatchObject({ loops: { REVIEWING: 3 } });
    expect(sent(machine, review, review, start)).toMatchObject({ phase: 'ACTING', loops: {} });
  });
});

import { describe, expect, test } from 'vitest';
import { createActor } from 'xstate';
import { createSupervisor, type PhaseEvent } from '../../src/index.ts';

// What docs/embedding.md warns of. That its example holds, test/docs says.
describe('an actor of the machine', () => {
  test('is left as it was by an event that is not legal, and says nothing', () => {
    const actor = createActor(createSupervisor().machine).start();
    const before = actor.getSnapshot();

    actor.send({ type: 'call.start' });
    actor.send({ type: 'propose.OBSERVING' });

    expect(actor.getSnapshot()).toBe(before);
  });

  test('still answers yes after a fault inside of it, so only what is in flight admits', () => {
    const machine = createSupervisor().machine.provide({
      guards: {
        withinStepBudget: () => {
          throw new Error('broken');
        },
      },
    });
    const faults: unknown[] = [];
    const actor = createActor(machine);
    actor.subscribe({ error: (fault) => faults.push(fault) });
    actor.start();

    expect(() => actor.send({ type: 'propose.PLANNING' })).not.toThrow();

    expect(faults).toHaveLength(1);
    expect(actor.getSnapshot()).toMatchObject({ status: 'error', value: 'IDLE', context: { inFlight: 0 } });
    expect(actor.getSnapshot().matches('IDLE')).toBe(true);
    expect(actor.getSnapshot().can({ type: 'run.finish' })).toBe(true);
  });

  test('keeps its table when the supervisor’s is changed', () => {
    const supervisor = createSupervisor();
    const actor = createActor(supervisor.machine).start();
    const { machine } = supervisor;

    supervisor.removeTransition('IDLE', 'PLANNING');
    actor.send({ type: 'propose.PLANNING' });

    expect(supervisor.machine).not.toBe(machine);
    expect(actor.getSnapshot().value).toBe('PLANNING');
  });

  test('ends as the run does, and keeps the reason', () => {
    const actor = createActor(createSupervisor().machine).start();

    actor.send({ type: 'run.abort', reason: 'the user left' } as PhaseEvent);

    expect(actor.getSnapshot()).toMatchObject({
      status: 'done',
      value: 'ANSWERING',
      context: { reason: 'the user left' },
    });
  });
});

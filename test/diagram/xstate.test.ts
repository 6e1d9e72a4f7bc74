import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { getInitialSnapshot, getNextSnapshot } from 'xstate';
import { toXStateConfig, toXStateJson } from '../../src/diagram/index.ts';
import { createSupervisor, type PhaseEvent, type Supervisor } from '../../src/index.ts';
import { type PhaseMachine, phaseSetup } from '../../src/machine.ts';
import { anyOptions } from './tables.ts';

/** The machine that someone gets who has nothing but the JSON, and the names' meaning. */
function fromJson(supervisor: Supervisor): PhaseMachine {
  return phaseSetup.createMachine(JSON.parse(toXStateJson(supervisor))) as unknown as PhaseMachine;
}

/** Where a machine goes, event by event. */
function trail(machine: Supervisor['machine'], events: readonly PhaseEvent[]) {
  let snapshot = getInitialSnapshot(machine);
  return events.map((event) => {
    snapshot = getNextSnapshot(machine, snapshot, event);
    return { value: snapshot.value, context: snapshot.context, status: snapshot.status };
  });
}

describe('toXStateJson', { timeout: 60_000 }, () => {
  test('is taken back by createMachine: the machine goes where the original goes', () => {
    fc.assert(
      fc.property(anyOptions, fc.array(fc.nat(), { maxLength: 60 }), (options, picks) => {
        const supervisor = createSupervisor(options);
        const types = [...new Set(supervisor.machine.events)];
        const events = picks.map(
          (pick) => ({ type: types[pick % types.length], reason: `reason ${pick}` }) as PhaseEvent,
        );
        expect(trail(fromJson(supervisor), events)).toEqual(trail(supervisor.machine, events));
      }),
      { numRuns: 100 },
    );
  });

  test('keeps a budget without limit', () => {
    const supervisor = createSupervisor({
      maxSteps: Number.POSITIVE_INFINITY,
      maxLoopsPerPhase: Number.POSITIVE_INFINITY,
    });
    const calls = Array.from({ length: 200 }, () => [{ type: 'call.start' }, { type: 'call.fail' }] as const);
    const events: PhaseEvent[] = [
      { type: 'propose.PLANNING' },
      { type: 'propose.ACTING' },
      ...calls.flat(),
      { type: 'call.start' },
      { type: 'call.succeed' },
    ];

    const end = trail(fromJson(supervisor), events).at(-1);

    expect(end?.value).toBe('OBSERVING');
    expect(end?.context).toMatchObject({ stepCount: 1, maxSteps: Number.POSITIVE_INFINITY });
    expect(toXStateJson(supervisor)).toContain('"maxSteps": 1e999');
  });

  test('says all that the config says, and ends its last line', () => {
    const supervisor = createSupervisor({ maxSteps: 7 });

    const text = toXStateJson(supervisor);

    expect(JSON.parse(text)).toEqual(toXStateConfig(supervisor));
    expect(text.endsWith('}\n')).toBe(true);
  });
});

describe('toXStateConfig', () => {
  test('makes the machine with the implementations of the supervisor’s own', () => {
    const supervisor = createSupervisor({ maxSteps: 1 });
    const machine = phaseSetup.createMachine(toXStateConfig(supervisor)) as unknown as PhaseMachine;
    const send = (types: readonly string[]) =>
      types.reduce(
        (snapshot, type) => getNextSnapshot(machine, snapshot, { type } as PhaseEvent),
        getInitialSnapshot(machine),
      );
    const once = ['propose.PLANNING', 'propose.ACTING', 'call.start', 'call.succeed'];

    expect(send(once).value).toBe('OBSERVING');
    expect(send([...once, 'propose.PLANNING']).value).toBe('OBSERVING');
  });
});

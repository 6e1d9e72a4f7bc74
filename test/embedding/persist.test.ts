import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { createActor } from 'xstate';
import { createSupervisor, type PhaseEvent, type Supervisor } from '../../src/index.ts';
import { anyOptions } from '../diagram/tables.ts';
import { blockWith, importBlock } from './docs.ts';

type Actor = ReturnType<typeof createActor<Supervisor['machine']>>;

interface Block {
  save(supervisor: Supervisor, actor: Actor): string;
  resume(supervisor: Supervisor, text: string): Actor;
}

let save: Block['save'];
let resume: Block['resume'];

beforeAll(async () => {
  ({ save, resume } = await importBlock<Block>(blockWith('export function resume')));
}, 60_000);

const ONE_STEP = ['propose.PLANNING', 'call.start', 'call.succeed'] as const;

function actorAfter(supervisor: Supervisor, types: readonly string[]): Actor {
  const actor = createActor(supervisor.machine).start();
  for (const type of types) send(actor, type);
  return actor;
}

// XState warns of what is sent to an actor that has ended.
function send(actor: Actor, type: string): void {
  if (actor.getSnapshot().status === 'active') actor.send({ type } as PhaseEvent);
}

function where(actor: Actor) {
  const { value, status, context } = actor.getSnapshot();
  return { value, status, context };
}

describe('save and resume of docs/embedding.md', { timeout: 60_000 }, () => {
  test('go on where any run was, and lead it where it would have gone', () => {
    fc.assert(
      fc.property(anyOptions, fc.array(fc.nat(), { maxLength: 40 }), fc.nat(), (options, picks, cut) => {
        const supervisor = createSupervisor(options);
        const known = [...new Set(supervisor.machine.events)];
        const types = picks.map((pick) => known[pick % known.length] as string);
        const at = types.length === 0 ? 0 : cut % types.length;
        const original = actorAfter(supervisor, types.slice(0, at));
        fc.pre(original.getSnapshot().context.inFlight === 0);

        const resumed = resume(supervisor, save(supervisor, original)).start();
        for (const type of types.slice(at)) {
          for (const actor of [original, resumed]) send(actor, type);
        }

        expect(where(resumed)).toEqual(where(original));
      }),
      { numRuns: 100 },
    );
  });

  test('count a call that was in flight, and leave ACTING', () => {
    const supervisor = createSupervisor({ maxSteps: 3 });
    const types = [...ONE_STEP, 'propose.PLANNING', 'call.start', 'call.start'];
    const actor = actorAfter(supervisor, types);
    expect(actor.getSnapshot().context).toMatchObject({ stepCount: 1, inFlight: 2 });

    const resumed = resume(supervisor, save(supervisor, actor)).start();

    expect(where(resumed)).toMatchObject({
      value: 'OBSERVING',
      context: { stepCount: 3, inFlight: 0, loopCount: { ACTING: 0 } },
    });
  });

  test('keep an end, and its reason', () => {
    const supervisor = createSupervisor();
    const actor = createActor(supervisor.machine).start();
    actor.send({ type: 'run.abort', reason: 'the user left' } as PhaseEvent);

    const resumed = resume(supervisor, save(supervisor, actor)).start();

    expect(where(resumed)).toMatchObject({
      value: 'ANSWERING',
      status: 'done',
      context: { reason: 'the user left' },
    });
  });

  test('refuse what was saved under other rules', () => {
    const text = save(createSupervisor(), actorAfter(createSupervisor(), ONE_STEP));
    const shorter = createSupervisor();
    shorter.removeTransition('OBSERVING', 'ANSWERING');

    expect(() => resume(createSupervisor({ maxSteps: 51 }), text)).toThrow('Saved under other rules');
    expect(() => resume(shorter, text)).toThrow('Saved under other rules');
  });

  test.each([
    ['null', () => null, 'version is undefined'],
    ['another version', (saved: object) => ({ ...saved, version: 2 }), 'version is 2'],
    ['a negative count', (saved: object) => ({ ...saved, stepCount: -100 }), 'Not the count of a run: -100'],
    ['half a step', (saved: object) => ({ ...saved, stepCount: 0.5 }), 'Not the count of a run: 0.5'],
    [
      'more steps than there may be',
      (saved: object) => ({ ...saved, stepCount: 51 }),
      'where 0 to 50 can be',
    ],
    ['more calls than there may be', (saved: object) => ({ ...saved, inFlight: 50 }), 'where 0 to 49 can be'],
    [
      'a count that is missing',
      (saved: object) => ({ ...saved, inFlight: undefined }),
      'Not the count of a run',
    ],
    ['no loop counts', (saved: object) => ({ ...saved, loopCount: {} }), 'Not the count of a run: undefined'],
    ['a phase that is not there', (saved: object) => ({ ...saved, phase: 'DREAMING' }), 'no phase DREAMING'],
    ['a phase that is no name', (saved: object) => ({ ...saved, phase: ['IDLE'] }), 'no phase IDLE'],
    ['a reason that is no text', (saved: object) => ({ ...saved, reason: 7 }), 'no text'],
  ])('refuse %s', (_, change, why) => {
    const supervisor = createSupervisor();
    const saved = JSON.parse(save(supervisor, actorAfter(supervisor, ONE_STEP))) as object;

    expect(() => resume(supervisor, JSON.stringify(change(saved)))).toThrow(why);
  });

  test('refuse to save an actor that has failed', () => {
    const supervisor = createSupervisor();
    const actor = createActor(
      supervisor.machine.provide({
        guards: {
          withinStepBudget: () => {
            throw new Error('broken');
          },
        },
      }),
    );
    actor.subscribe({ error: () => {} });
    actor.start();
    actor.send({ type: 'propose.PLANNING' });

    expect(() => save(supervisor, actor)).toThrow('The actor is in error');
  });
});

// Why the page does not hand the text to XState as it is.
describe('a snapshot that is handed to XState unchecked', () => {
  test('brings back a larger budget, or the whole of it', () => {
    const { machine } = createSupervisor({ maxSteps: 1 });
    const persisted = JSON.parse(
      JSON.stringify(actorAfter(createSupervisor({ maxSteps: 1 }), ONE_STEP).getPersistedSnapshot()),
    );
    const forged = { ...persisted, context: { ...persisted.context, stepCount: -100, maxSteps: 1000 } };

    expect(createActor(machine, { snapshot: forged }).start().getSnapshot().context).toMatchObject({
      stepCount: -100,
      maxSteps: 1000,
    });
    expect(
      createActor(machine, { snapshot: null as never })
        .start()
        .getSnapshot().value,
    ).toBe('IDLE');
  });
});

import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  type EnforcementOptions,
  type PhaseActor,
  Refusal,
  type Run,
  type SupervisorOptions,
} from '../../src/index.ts';
import { RunActor } from '../../src/run-actor.ts';
import { MUTANTS } from '../mutants.ts';
import { gate, refusalOf } from './helpers.ts';

function begin(rules: SupervisorOptions = {}, options: EnforcementOptions = {}): Run {
  return createEnforcement({ supervisor: createSupervisor(rules), ...options }).beginRun();
}

/** Where the actor is: phase, steps, loops of the phase, calls in flight. */
function standing(actor: PhaseActor) {
  const { value, context } = actor.getSnapshot();
  return [value, context.stepCount, context.loopCount[String(value)], context.inFlight];
}

describe('run.actor: the run as a real XState actor', () => {
  test('is where the run is, after each call', async () => {
    const run = begin({ maxSteps: 3 });
    const { actor } = run;
    expect(standing(actor)).toEqual(['IDLE', 0, 0, 0]);
    await run.callTool('search', {}, async (ctx) => {
      expect(standing(actor)).toEqual(['ACTING', 0, 0, 1]);
      await ctx.callTool('fetch', {}, () => expect(standing(actor)).toEqual(['ACTING', 0, 1, 2]));
      expect(standing(actor)).toEqual(['ACTING', 1, 1, 1]);
    });
    expect(standing(actor)).toEqual(['OBSERVING', 2, 0, 0]);
    expect(actor.getSnapshot().context).toMatchObject({ maxSteps: 3, maxLoopsPerPhase: 3 });
    run.abort('enough');
    expect(actor.getSnapshot()).toMatchObject({
      value: 'ANSWERING',
      status: 'done',
      context: { reason: 'enough' },
    });
  });

  test('takes each hop as the event that its machine knows', async () => {
    const run = begin();
    const values: unknown[] = [];
    run.actor.subscribe(({ value }) => values.push(value));
    await run.callTool('search', {}, () => 1);
    run.propose('PLANNING');
    run.finish();
    expect(values).toEqual(['PLANNING', 'ACTING', 'OBSERVING', 'PLANNING', 'ANSWERING']);
  });

  test('begins where the run is when it is first asked for', async () => {
    const run = begin();
    await run.callTool('search', {}, () => 1);
    expect(standing(run.actor)).toEqual(['OBSERVING', 1, 0, 0]);
    const refusing = begin();
    refusing.abort('no');
    expect(refusing.actor.getSnapshot()).toMatchObject({ value: 'ANSWERING', status: 'done' });
  });

  test('counts the steps of child runs, which are steps of its run too (SPEC §10.2)', async () => {
    const enforcement = createEnforcement();
    await enforcement.withRun(async (parent) => {
      const { actor } = parent;
      await parent.callTool('delegate', {}, () =>
        enforcement.withRun(async (child) => {
          await child.callTool('search', {}, () => 1);
          expect(standing(child.actor)).toEqual(['OBSERVING', 1, 0, 0]);
        }),
      );
      expect(standing(actor)).toEqual(['OBSERVING', 2, 0, 0]);
    });
  });

  test('follows a run of which no table is enforced (SPEC §7)', async () => {
    const run = begin({ transitions: [], maxSteps: 0 }, { enabledChecks: [] });
    const { actor } = run;
    await run.callTool('search', {}, () => expect(standing(actor)).toEqual(['ACTING', 0, 0, 1]));
    await run.callTool('search', {}, () => 1);
    expect(standing(actor)).toEqual(['OBSERVING', 2, 0, 0]);
  });

  test('ends in EXHAUSTED with its run, also for the budget of an ancestor (SPEC §6.5)', async () => {
    const rules = { maxSteps: 1, onBudgetExhausted: 'terminate' } as const;
    const enforcement = createEnforcement({ supervisor: createSupervisor(rules) });
    const parent = enforcement.beginRun();
    const call = await parent.beforeCall('delegate');
    const child = enforcement.beginRun({ parent: call });
    const { actor } = child;
    expect(child.admit('search')).toBeInstanceOf(Refusal);
    expect(child.state.phase).toBe('EXHAUSTED');
    expect(actor.getSnapshot()).toMatchObject({ value: 'EXHAUSTED', status: 'done' });
  });
});

describe('Where the run and its actor disagree', () => {
  const moved = (run: Run) => run.actor.send({ type: 'propose.PLANNING' });

  test('a call is refused, with both states in the message, and no body starts', async () => {
    const run = begin();
    moved(run);
    let started = 0;
    const refusal = await refusalOf(run.callTool('search', {}, () => ++started));
    expect(refusal).toMatchObject({ code: 'actor-disagrees', stage: 'dfa' });
    expect(refusal.message).toBe(
      'The run and its XState actor disagree before call.start: ' +
        'the run is in IDLE with 0 steps, 0 loops and 0 calls in flight, ' +
        'the actor is in PLANNING with 0 steps, 0 loops and 0 calls in flight',
    );
    expect(started).toBe(0);
    expect(run.state).toMatchObject({ phase: 'IDLE', stepCount: 0, inFlight: 0 });
    expect(run.validateActionPhase()).toMatchObject({ allowed: false, code: 'actor-disagrees' });
  });

  test('it is not forgotten: every later call and proposal is refused as well', async () => {
    const run = begin();
    moved(run);
    await refusalOf(run.callTool('search', {}, () => 1));
    run.actor.send({ type: 'run.finish' });
    expect(run.admit('search')).toMatchObject({ code: 'actor-disagrees' });
    expect(run.propose('PLANNING')).toMatchObject({ allowed: false, code: 'actor-disagrees' });
    expect(run.propose('FOO')).toMatchObject({ code: 'unknown-phase' });
  });

  test('a machine that moves otherwise than the run is found out by what the event would do', () => {
    const { rules } = createSupervisor();
    const standing = { phase: 'ACTING', stepCount: 0, loopCount: 0, inFlight: 1 };
    const mutate = MUTANTS['calls are not let go'] as (typeof MUTANTS)[string];
    const actor = new RunActor(mutate(rules), rules, standing, null, { id: 'run' });
    expect(actor.take([{ type: 'call.fail' }], { ...standing, inFlight: 0 })).toBe(
      'The run and its XState actor disagree after call.fail: ' +
        'the run is in ACTING with 0 steps, 0 loops and 0 calls in flight, ' +
        'the actor is in ACTING with 0 steps, 0 loops and 1 calls in flight',
    );
    expect(actor.ref.getSnapshot().context.inFlight).toBe(1);
  });

  test('calls in flight end, and the run ends, as ever', async () => {
    const run = begin();
    const call = await run.beforeCall('search');
    run.actor.send({ type: 'call.fail' });
    run.afterCall(call);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
    expect(run.admit('search')).toMatchObject({ code: 'actor-disagrees' });
    run.finish();
    expect(run.state).toMatchObject({ phase: 'ANSWERING', finished: true });
  });

  test('an actor that was stopped is one that disagrees', () => {
    const run = begin();
    run.actor.stop();
    expect(run.admit('search')).toMatchObject({
      code: 'actor-disagrees',
      message: expect.stringContaining('the actor is stopped, in IDLE'),
    });
  });
});

describe('Whoever observes the actor', () => {
  test('may call a tool in turn, from inside of an event', async () => {
    const run = begin({}, { parallel: 'concurrent' });
    const inner: Promise<number>[] = [];
    const hold = gate<number>();
    run.actor.subscribe(({ value }) => {
      if (value === 'ACTING' && inner.length === 0) inner.push(run.callTool('again', {}, () => hold.passed));
    });
    expect(await run.callTool('search', {}, () => 1)).toBe(1);
    hold.open(2);
    expect(await Promise.all(inner)).toEqual([2]);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
    expect(standing(run.actor)).toEqual(['OBSERVING', 2, 0, 0]);
  });

  test('may end the run: then no body starts any more', async () => {
    const run = begin();
    run.actor.subscribe(({ value }) => {
      if (value === 'ACTING') run.abort('seen enough');
    });
    let started = 0;
    expect(await refusalOf(run.callTool('search', {}, () => ++started))).toMatchObject({
      code: 'run-completed',
    });
    expect(started).toBe(0);
    expect(run.actor.getSnapshot().value).toBe('ANSWERING');
  });

  test('may end the run while a call is admitted: listeners hear of a refusal, and of nothing that never began', () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const told: string[] = [];
    enforcement.on(({ type }) => told.push(type));
    run.actor.subscribe(({ value }) => {
      if (value === 'ACTING') run.abort('seen enough');
    });
    expect(run.admit('search')).toMatchObject({ code: 'run-completed' });
    expect(told).toEqual(['phase.entered', 'run.ended', 'call.refused']);
  });

  test('may use a child run when told of its step: that is no disagreement', async () => {
    const enforcement = createEnforcement();
    const parent = enforcement.beginRun();
    const child = enforcement.beginRun({ parent: await parent.beforeCall('delegate') });
    const answers: unknown[] = [];
    parent.actor.subscribe(({ context }) => {
      if (context.stepCount === 1 && answers.length === 0) answers.push(child.propose('PLANNING'));
    });
    void child.actor;
    await child.callTool('search', {}, () => 1);
    expect(answers).toMatchObject([{ allowed: true }]);
    expect(standing(child.actor)).toEqual(['PLANNING', 1, 0, 0]);
    expect(await child.callTool('search', {}, () => 2)).toBe(2);
  });
});

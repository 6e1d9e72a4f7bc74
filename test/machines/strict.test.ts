import { describe, expect, test } from 'vitest';
import { createActor } from 'xstate';
import { strictMachine } from '../../machines/strict.machine.ts';
import { createEnforcement, createMonitor, type PhaseEvent } from '../../src/index.ts';
import { exampleConfig } from './machines.ts';

const succeed = async () => 'ok';

function snapshotAfter(events: readonly PhaseEvent[]) {
  const actor = createActor(strictMachine).start();
  for (const event of events) actor.send(event);
  return actor.getSnapshot();
}

const step: readonly PhaseEvent[] = [
  { type: 'propose.PLANNING' },
  { type: 'call.start' },
  { type: 'call.succeed' },
];
const steps = (count: number) => Array.from({ length: count }, () => step).flat();

describe('a strict run', () => {
  test('ends in EXHAUSTED at the first call past its step budget', async () => {
    const run = createEnforcement({ config: await exampleConfig('strict.yaml') }).beginRun();
    for (let call = 1; call <= 20; call++) await run.callTool('search', {}, succeed);

    await expect(run.callTool('search', {}, succeed)).rejects.toMatchObject({ code: 'step-budget' });

    expect(run.state).toMatchObject({ phase: 'EXHAUSTED', finished: true, stepCount: 20 });
  });

  test('ends in EXHAUSTED at the first retry past its loop budget', async () => {
    const run = createEnforcement({ config: await exampleConfig('strict.yaml') }).beginRun();
    const fail = () => run.callTool('flaky', {}, () => Promise.reject(new Error('broken')));
    for (let attempt = 1; attempt <= 4; attempt++) await expect(fail()).rejects.toThrow('broken');

    await expect(fail()).rejects.toMatchObject({ code: 'loop-budget' });

    expect(run.state).toMatchObject({ phase: 'EXHAUSTED', finished: true, stepCount: 0 });
  });

  test('ends in REJECTED at the first call that a check refuses', async () => {
    const checks = [
      { name: 'no-mail', check: () => ({ allowed: false as const, message: 'No mail today' }) },
    ];
    const monitor = createMonitor(await exampleConfig('strict.yaml'), { checks });
    const run = createEnforcement({ monitor }).beginRun();

    await expect(run.callTool('mail', {}, succeed)).rejects.toMatchObject({ code: 'check-refused' });

    expect(run.state).toMatchObject({ phase: 'REJECTED', finished: true, reason: 'No mail today' });
  });
});

describe('the strict machine', () => {
  test('moves to EXHAUSTED only when a budget is used up, and keeps the reason', () => {
    const exhaust: PhaseEvent = { type: 'run.exhaust', reason: 'Step budget exhausted: 20/20' };

    expect(snapshotAfter([...steps(19), exhaust]).value).toBe('OBSERVING');
    expect(snapshotAfter([...steps(20), exhaust])).toMatchObject({
      value: 'EXHAUSTED',
      status: 'done',
      context: { reason: 'Step budget exhausted: 20/20' },
    });
  });

  test('moves to REJECTED, but not while a call is in flight', () => {
    const reject: PhaseEvent = { type: 'run.reject', reason: 'No mail today' };

    expect(snapshotAfter([...steps(1), reject]).value).toBe('REJECTED');
    expect(snapshotAfter([...step.slice(0, 2), reject]).value).toBe('ACTING');
  });
});

import { describe, expect, test } from 'vitest';
import {
  type Call,
  type Check,
  createEnforcement,
  createMonitor,
  type EnforcementOptions,
  type Run,
} from '../../src/index.ts';
import { verify } from '../../src/verify/index.ts';
import { exampleConfig, supervisorOf } from './machines.ts';

const REVIEWED = 'OBSERVING → REVIEWING → PLANNING → ACTING';

// The check of docs/stately.md.
const humanReview: Check = {
  name: 'human-review',
  check: (_call, state) =>
    state.phase === 'OBSERVING' || state.phase === 'REVIEWING'
      ? { allowed: false, code: 'review-pending', message: 'The last result has not been approved yet' }
      : { allowed: true },
};

async function beginRun(check: Check, options: EnforcementOptions = {}): Promise<Run> {
  const config = { ...(await exampleConfig('review.yaml')), enabledChecks: ['dfa', 'human-review'] };
  return createEnforcement({ ...options, monitor: createMonitor(config, { checks: [check] }) }).beginRun();
}

const succeed = async () => 'ok';
const fail = async () => {
  throw new Error('broken');
};
const approve = (run: Run) => [run.propose('REVIEWING').allowed, run.propose('PLANNING').allowed];
const PENDING = { code: 'review-pending', stage: 'human-review' };

describe('the table with a review', () => {
  test('lets no run from OBSERVING to ACTING but through REVIEWING', async () => {
    expect(verify(await supervisorOf('review.yaml'), { alwaysVia: ['REVIEWING'] }).holds).toBe(true);
    expect(verify(await supervisorOf(undefined), { never: [['OBSERVING', 'PLANNING']] }).holds).toBe(false);
  });

  test('waits for no one: the next call passes through REVIEWING by itself', async () => {
    const run = createEnforcement({ config: await exampleConfig('review.yaml') }).beginRun();
    await run.callTool('search', {}, succeed);
    await run.callTool('send', {}, succeed);

    expect(run.log.at(-1)?.path.join(' → ')).toBe(REVIEWED);
  });
});

describe('the check that waits for an approval', () => {
  test('refuses calls until the result has been approved, and then lets one through', async () => {
    const run = await beginRun(humanReview);
    await run.callTool('search', {}, succeed);

    await expect(run.callTool('send', {}, succeed)).rejects.toMatchObject(PENDING);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 1, inFlight: 0 });
    expect(run.propose('REVIEWING').allowed).toBe(true);
    await expect(run.callTool('send', {}, succeed)).rejects.toMatchObject(PENDING);
    expect(run.propose('PLANNING').allowed).toBe(true);
    expect(await run.callTool('send', {}, succeed)).toBe('ok');

    await expect(run.callTool('send', {}, succeed)).rejects.toMatchObject(PENDING);
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2 });
  });

  test('cannot be passed by leaving the review out', async () => {
    const run = await beginRun(humanReview);
    await run.callTool('search', {}, succeed);

    expect(run.propose('PLANNING')).toMatchObject({ allowed: false, code: 'illegal-transition' });
  });

  test('lets nested calls and retries through, under the loop budget', async () => {
    const run = await beginRun(humanReview);
    await run.callTool('outer', {}, async (call: Call) => {
      await run.callTool('inner', {}, succeed, { parent: call });
    });
    approve(run);
    for (let attempt = 1; attempt <= 4; attempt++) {
      await expect(run.callTool('flaky', {}, fail)).rejects.toThrow('broken');
    }

    await expect(run.callTool('flaky', {}, fail)).rejects.toMatchObject({ code: 'loop-budget' });
    expect(run.state).toMatchObject({ phase: 'ACTING', stepCount: 2 });
  });

  test('holds back the second of two calls of one turn, or lets both join where they may', async () => {
    const twoCalls = async (run: Run) => {
      const both = await Promise.allSettled([run.callTool('a', {}, succeed), run.callTool('b', {}, succeed)]);
      return both.map(({ status }) => status);
    };

    expect(await twoCalls(await beginRun(humanReview))).toEqual(['fulfilled', 'rejected']);
    expect(await twoCalls(await beginRun(humanReview, { parallel: 'concurrent' }))).toEqual([
      'fulfilled',
      'fulfilled',
    ]);
  });

  test('cannot be forgotten: its name is in the configuration', async () => {
    const config = { ...(await exampleConfig('review.yaml')), enabledChecks: ['dfa', 'human-review'] };

    expect(() => createMonitor(config)).toThrow('there is no such check');
  });
});

describe('the check that asks a person', () => {
  test('goes the whole way on a yes, and nowhere on a no', async () => {
    const answers = [true, false];
    const run = await beginRun({
      name: 'human-review',
      check: async (_call, state) =>
        state.phase !== 'OBSERVING' || answers.shift() === true
          ? { allowed: true }
          : { allowed: false, code: 'declined', message: 'The reviewer said no' },
    });
    await run.callTool('search', {}, succeed);
    await run.callTool('send', {}, succeed);
    expect(run.log.at(-1)?.path.join(' → ')).toBe(REVIEWED);

    await expect(run.callTool('delete', {}, succeed)).rejects.toMatchObject({ code: 'declined' });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
  });

  test('keeps the run where it is while it waits', async () => {
    let answer: (yes: boolean) => void = () => {};
    const asked = new Promise<boolean>((resolve) => {
      answer = resolve;
    });
    const run = await beginRun({
      name: 'human-review',
      check: async (_call, state) => ({ allowed: state.phase !== 'OBSERVING' || (await asked) }) as never,
    });
    await run.callTool('search', {}, succeed);
    const sent = run.callTool('send', {}, succeed);

    expect(run.propose('REVIEWING')).toMatchObject({ allowed: false, code: 'call-in-flight' });
    expect(run.state).toMatchObject({ phase: 'OBSERVING', inFlight: 0 });
    answer(true);
    expect(await sent).toBe('ok');
  });
});

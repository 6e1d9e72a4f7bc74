import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Enforcement,
  type PhasegateEvent,
  type Run,
  type SavedRun,
  SavedRunError,
} from '../../src/index.ts';
import { flush, gate, refusalOf } from './helpers.ts';

const KEY = 'a secret of 16 bytes or more';

function enforcementOf(options: Parameters<typeof createSupervisor>[0] = {}): Enforcement {
  return createEnforcement({
    supervisor: createSupervisor({ maxSteps: 5, ...options }),
    parallel: 'concurrent',
  });
}

/** As it comes back from a store. */
function stored(saved: SavedRun): SavedRun {
  return JSON.parse(JSON.stringify(saved));
}

async function steps(run: Run, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await run.callTool('search', {}, () => 'a page');
}

function refused(resume: () => unknown): SavedRunError {
  try {
    resume();
  } catch (error) {
    expect(error).toBeInstanceOf(SavedRunError);
    return error as SavedRunError;
  }
  throw new Error('it was resumed');
}

/** The saved run with something else at a place in it, as in `state.stepCount`; without it, where that is undefined. */
function edited(saved: SavedRun, path: string, value: unknown): SavedRun {
  const copy = stored(saved);
  const keys = path.split('.');
  const last = keys.pop() ?? '';
  const holder = keys.reduce(
    (at, key) => at[key] as Record<string, unknown>,
    copy as unknown as Record<string, unknown>,
  );
  holder[last] = value;
  return stored(copy);
}

describe('SPEC §11.1: a run that was saved', () => {
  test('goes on elsewhere with the same id, phase, counters and budgets', async () => {
    const run = enforcementOf().beginRun({ id: 'r1' });
    await steps(run, 3);

    const resumed = enforcementOf().resumeRun(stored(run.save()));

    expect(resumed.id).toBe('r1');
    expect(resumed.state).toEqual(run.state);
    await steps(resumed, 2);
    expect(await refusalOf(resumed.callTool('search', {}, () => 0))).toMatchObject({ code: 'step-budget' });
  });

  test('numbers its calls where it left off', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 2);
    const resumed = enforcementOf().resumeRun(stored(run.save()));
    await steps(resumed, 1);
    expect(resumed.log.map(({ callId }) => callId)).toEqual(['call-3']);
  });

  test('keeps the failed calls in a row that its loop budget has counted', async () => {
    const run = enforcementOf({ maxLoopsPerPhase: 2 }).beginRun();
    for (let i = 0; i < 3; i++) run.failCall(await run.beforeCall('search'));
    const resumed = enforcementOf({ maxLoopsPerPhase: 2 }).resumeRun(stored(run.save()));
    expect(resumed.state.loopCount).toEqual({ ACTING: 2 });
    expect(await refusalOf(resumed.beforeCall('search'))).toMatchObject({ code: 'loop-budget' });
  });

  test('stays ended, and says why', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 1);
    run.abort('the user left');
    const resumed = enforcementOf().resumeRun(stored(run.save()));
    expect(resumed.state).toEqual(run.state);
    expect(resumed.signal).toMatchObject({ aborted: true, reason: 'the user left' });
    const { code, message } = await refusalOf(resumed.beforeCall('search'));
    expect([code, message]).toEqual([
      'run-completed',
      'Cannot call search: agent run is already completed: the user left',
    ]);
  });
});

describe('SPEC §11.2: calls in flight', () => {
  test('were interrupted: each is charged, told of, and the phase is OBSERVING', async () => {
    const run = enforcementOf().beginRun({ id: 'r1' });
    const outer = await run.beforeCall('research', {}, { callId: 'c1' });
    await run.beforeCall('search', {}, { callId: 'c2', parent: outer });
    const enforcement = enforcementOf();
    const events: PhasegateEvent[] = [];
    enforcement.on((event) => events.push(event));

    const resumed = enforcement.resumeRun(stored(run.save()));

    expect(resumed.state).toEqual({
      ...run.state,
      phase: 'OBSERVING',
      stepCount: 2,
      loopCount: {},
      inFlight: 0,
    });
    expect(resumed.interrupted).toEqual([
      { seq: 1, id: 'c1', tool: 'research', parent: null },
      { seq: 2, id: 'c2', tool: 'search', parent: 1 },
    ]);
    expect(resumed.callsInFlight).toEqual([]);
    expect(events).toMatchObject([
      { type: 'run.started', run: 'r1', resumed: run.state },
      { type: 'call.ended', call: 'c2', ok: true, late: false, interrupted: true },
      { type: 'phase.entered', from: 'ACTING', phase: 'OBSERVING' },
      { type: 'call.ended', call: 'c1', ok: true, late: false, interrupted: true },
    ]);
  });

  test('are kept, if their bodies go on elsewhere', async () => {
    const run = enforcementOf().beginRun();
    const outer = await run.beforeCall('research');
    await run.beforeCall('search', {}, { parent: outer });

    const resumed = enforcementOf().resumeRun(stored(run.save()), { inFlight: 'keep' });

    expect(resumed.state).toEqual(run.state);
    expect(resumed.interrupted).toEqual([]);
    const [first, second] = resumed.callsInFlight;
    expect(second?.parent).toBe(first);
    if (first === undefined || second === undefined) throw new Error('there are two');
    await first.callTool('read', {}, () => 'a page');
    resumed.failCall(second);
    resumed.afterCall(first);
    expect(resumed.state).toMatchObject({ phase: 'OBSERVING', stepCount: 2, inFlight: 0 });
  });

  test('that wait or are being checked have not begun, and are not in it', async () => {
    const checked = gate<{ allowed: true }>();
    const monitor = createMonitor(
      { enabledChecks: ['slow'] },
      { checks: [{ name: 'slow', check: () => checked.passed }] },
    );
    const enforcement = createEnforcement({ monitor });
    const run = enforcement.beginRun();
    const answers = [run.beforeCall('search'), run.beforeCall('read')];
    const saved = stored(run.save());
    expect(saved).toMatchObject({ state: run.state, calls: [], callsAsked: 2 });
    checked.open({ allowed: true });
    await flush();
    expect(createEnforcement({ monitor }).resumeRun(saved).state).toMatchObject({
      phase: 'IDLE',
      stepCount: 0,
    });
    run.finish();
    await Promise.allSettled(answers);
  });
});

describe('what was signed', () => {
  test('is resumed with its key, and refused with another, with none, or after an edit', async () => {
    const run = enforcementOf().beginRun();
    await steps(run, 2);
    const saved = stored(run.save({ key: KEY }));
    const enforcement = enforcementOf();

    expect(enforcement.resumeRun(saved, { key: KEY }).state).toEqual(run.state);
    for (const [given, options] of [
      [saved, { key: `${KEY}!` }],
      [saved, {}],
      [run.save(), { key: KEY }],
      [edited(saved, 'state.stepCount', 1), { key: KEY }],
      [edited(saved, 'id', 'another'), { key: KEY }],
    ] as const) {
      expect(refused(() => enforcement.resumeRun(given, options)).differs).toBe('signature');
    }
  });
});

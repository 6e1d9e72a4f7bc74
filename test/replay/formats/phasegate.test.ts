import { describe, expect, it } from 'vitest';
import { createEnforcement } from '../../../src/index.ts';
import { phasegate } from '../../../src/replay/formats/phasegate.ts';
import { budgets, callsOf, eventsOf, faultsOf, lines, replayed } from '../support.ts';

const began = (run: string, more: object = {}) => ({ type: 'run.started', run, ...more });
const call = (run: string, tool: string, more: object = {}) => ({ type: 'call.started', run, tool, ...more });
const ended = (run: string, more: object = {}) => ({ type: 'call.ended', run, ok: true, ...more });
const over = (run: string, more: object = {}) => ({ type: 'run.ended', run, ...more });

describe("the package's own recording", () => {
  it('is what an enforcement tells its listeners, line by line', async () => {
    const enforcement = createEnforcement();
    const told: unknown[] = [];
    enforcement.on((event) => told.push(event));
    await enforcement.withRun(
      async (run) => {
        await run.callTool('outer', { q: 1 }, async (ctx) => {
          await ctx.callTool('inner', {}, () => 'fine');
          await enforcement.withRun((child) => child.callTool('child', {}, () => 'fine'), { id: 'child' });
        });
        await run.callTool('broken', {}, () => Promise.reject(new Error('no'))).catch(() => undefined);
      },
      { id: 'main' },
    );
    const { reports, faults } = await replayed(lines(...told));
    expect(faults).toEqual([]);
    expect(reports).toEqual([
      expect.objectContaining({
        index: 0,
        run: 'main',
        calls: 4,
        failed: 1,
        verdict: 'allowed',
        stepCount: 3,
        figures: { steps: 4, loops: 1, failuresInARow: 1, nested: 1, depth: 1 },
      }),
    ]);
  });

  it('may interleave runs, whose calls have the same ids', async () => {
    const { reports } = await replayed(
      lines(
        began('a'),
        began('b'),
        call('a', 'x', { call: '1' }),
        call('b', 'y', { call: '1' }),
        ended('b', { call: '1', ok: false }),
        over('b'),
        ended('a', { call: '1' }),
        over('a'),
      ),
    );
    expect(reports.map(({ run, index, failed }) => [run, index, failed])).toEqual([
      ['b', 1, 1],
      ['a', 0, 0],
    ]);
  });

  it('ends the oldest open call of an id that is there twice', async () => {
    const recording = lines(
      call('r', 'a', { call: '1' }),
      call('r', 'b', { call: '1' }),
      ended('r', { call: '1', ok: false }),
      ended('r', { call: '1' }),
      call('r', 'c', { call: '1' }),
      ended('r', { call: '1', ok: false }),
    );
    expect(await callsOf(recording)).toEqual(['a error', 'b ok', 'c error']);
  });

  it('ends, without an id, the oldest open call of that tool, or of any', async () => {
    const recording = lines(
      call('r', 'a'),
      call('r', 'b'),
      call('r', 'a'),
      ended('r', { tool: 'b', ok: false }),
      ended('r', { tool: 'a', ok: false }),
      ended('r'),
      call('r', 'c', { call: '1' }),
      ended('r', { ok: false }),
    );
    expect(await callsOf(recording)).toEqual(['a error', 'b error', 'a ok', 'c error']);
  });

  it('charges a call as a step that has no end, or an end that does not say how', async () => {
    const { reports } = await replayed(
      lines(call('r', 'a'), ended('r', { ok: undefined }), call('r', 'b'), over('r')),
    );
    expect(reports).toMatchObject([{ calls: 2, failed: 0, stepCount: 2 }]);
  });

  it('asks again for a call that was refused; once it is allowed it has no result', async () => {
    const recording = lines(
      began('r'),
      call('r', 'a', { call: '1' }),
      ended('r', { call: '1' }),
      {
        type: 'call.refused',
        run: 'r',
        call: '2',
        tool: 'b',
        code: 'step-budget',
        message: 'no',
        stage: 'dfa',
      },
      over('r'),
    );
    const { reports } = await replayed(recording);
    expect(reports).toMatchObject([{ calls: 2, failed: 0, verdict: 'allowed', stepCount: 2 }]);
  });

  it('passes over a call that was refused for want of a run', async () => {
    const { reports, faults } = await replayed(
      lines(began('r'), { type: 'call.refused', run: null, tool: 'b' }),
    );
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 0 }]);
  });

  it('makes a call nested that names the call it was made from', async () => {
    const { reports } = await replayed(
      lines(
        call('r', 'outer', { call: '1' }),
        call('r', 'inner', { call: '2', parent: '1' }),
        ended('r', { call: '2' }),
        ended('r', { call: '1' }),
      ),
    );
    expect(reports).toMatchObject([{ stepCount: 2, figures: { nested: 1, loops: 1 } }]);
  });

  it('makes a child of a run that names its parent, with the call that it was begun in or without', async () => {
    for (const more of [{ parent: 'r', call: '1' }, { parent: 'r' }]) {
      const { reports, faults } = await replayed(
        lines(
          began('r'),
          call('r', 'outer', { call: '1' }),
          began('c', more),
          call('c', 'x'),
          ended('c'),
          over('c'),
          ended('r'),
          over('r'),
        ),
      );
      expect(faults).toEqual([]);
      expect(reports).toMatchObject([{ run: 'r', calls: 2, stepCount: 2, figures: { depth: 1 } }]);
    }
  });

  it('may have calls after the end of their run, which are refused, and ends, which count as recorded', async () => {
    const { reports, faults } = await replayed(
      lines(
        began('r'),
        call('r', 'a', { call: '1' }),
        over('r', { reason: 'timeout' }),
        { type: 'call.refused', run: 'r', call: '2', tool: 'b' },
        ended('r', { call: '1', ok: false, late: true }),
      ),
    );
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([
      {
        calls: 2,
        failed: 1,
        verdict: 'run-completed',
        firstRefusal: {
          seq: 2,
          tool: 'b',
          callId: '2',
          message: 'Cannot call b: agent run is already completed: timeout',
        },
      },
    ]);
  });

  it('begins a new run where the id of one is used again', async () => {
    const once = lines(began('r'), call('r', 'a'), ended('r'), over('r'));
    const { reports } = await replayed(once + once + lines(began('r'), call('r', 'b'), began('r')));
    expect(reports.map(({ index, run, calls }) => [index, run, calls])).toEqual([
      [0, 'r', 1],
      [1, 'r', 1],
      [2, 'r', 1],
      [3, 'r', 0],
    ]);
  });

  it('needs no start of a run, and may have ids that are numbers', async () => {
    const { reports } = await replayed(
      lines(call('r', 'a', { call: 7 }), { type: 'call.ended', run: 'r', call: 7, ok: false }),
    );
    expect(reports).toMatchObject([{ run: 'r', calls: 1, failed: 1 }]);
  });

  it('replays what the agent proposed by itself', async () => {
    const proposed = (target: string) => ({ type: 'phase.proposed', run: 'r', target });
    const recording = lines(
      began('r'),
      proposed('PLANNING'),
      proposed('ANSWERING'),
      call('r', 'a'),
      over('r'),
    );
    expect((await replayed(recording)).reports).toMatchObject([{ verdict: 'run-completed' }]);
  });

  it('may tell of phases, and a line that a killed program broke off is told of with what was written behind it', async () => {
    const entered = { type: 'phase.entered', time: 1, run: 'r', from: 'IDLE', phase: 'PLANNING' };
    const told = lines(began('r'), entered, call('r', 'a'), entered, ended('r'));
    const broken = `{"type":"phase.entered","time":17${lines(call('r', 'b'))}`;
    const events = await eventsOf(told + broken + lines(over('r')), phasegate);
    expect(events.map(({ type }) => type)).toEqual([
      'run.started',
      'call.started',
      'call.ended',
      'fault',
      'run.ended',
    ]);
    expect(events[1]).toMatchObject({ line: 3 });
    expect(events[3]).toMatchObject({ line: 6, message: expect.stringContaining('not JSON') });
  });

  it.each([
    ['a value that is no record', [1], '2: expected an object with a "type", got an array of a number'],
    [
      'an unknown type',
      { type: 'call.begin', run: 'r' },
      /^2: unknown type "call.begin"; there are: run.started, /,
    ],
    [
      'a record without its run',
      { type: 'call.started', tool: 'x' },
      '2: call.started without "run", the id of its run',
    ],
    [
      'a call without its tool',
      { type: 'call.started', run: 'r' },
      '2: call.started without "tool", the name of the tool',
    ],
    [
      'an end that is neither',
      { type: 'call.ended', run: 'r', ok: 'yes' },
      '2: "ok" must be true or false, got a string',
    ],
    [
      'an end of no call',
      { type: 'call.ended', run: 'r', call: '9', ok: true },
      '2: a call ended that is not open in run r: 9',
    ],
    [
      'a proposal without its phase',
      { type: 'phase.proposed', run: 'r' },
      '2: phase.proposed without "target", the phase',
    ],
    [
      'a nested call of none',
      { type: 'call.started', run: 'r', tool: 'x', parent: '9' },
      '2: x was called from inside call 9, which is not open in run r; it is replayed as a top-level call',
    ],
    [
      'a resumed run without its state',
      { type: 'run.started', run: 'c', resumed: { calls: [] } },
      '2: "resumed" must have the state and the calls of run c, which is taken to begin here',
    ],
    [
      'a child of none',
      { type: 'run.started', run: 'c', parent: 'p', call: '9' },
      '2: run c is begun in call 9 of run p, which is not open here; it is replayed as an outermost run',
    ],
  ])('tells of %s', async (_, record, fault) => {
    const found = await faultsOf(lines(began('r'), record));
    expect(found).toEqual([typeof fault === 'string' ? fault : expect.stringMatching(fault)]);
  });
});

describe('of a run that was saved and resumed', () => {
  /** What is told of a run that makes some steps, and is saved while calls are in flight; and what is told of it after that. */
  async function recorded(steps: number, inFlight: 'interrupt' | 'keep') {
    const before: unknown[] = [];
    const after: unknown[] = [];
    const [first, second] = [before, after].map((told) => {
      const enforcement = createEnforcement();
      enforcement.on((event) => told.push(event));
      return enforcement;
    });
    const run = first?.beginRun({ id: 'main' });
    for (let i = 0; i < steps; i++) await run?.callTool('search', {}, () => 'a page');
    const outer = await run?.beforeCall('research', {});
    await run?.beforeCall('search', {}, { parent: outer });
    const resumed = second?.resumeRun(JSON.parse(JSON.stringify(run?.save())), { inFlight });
    for (const call of [...(resumed?.callsInFlight ?? [])].reverse()) resumed?.failCall(call);
    await resumed?.callTool('read', {}, () => 'a page');
    resumed?.finish();
    return { before: lines(...before), after: lines(...after), stepCount: resumed?.state.stepCount };
  }

  it('the rest goes on where it was, under whatever budgets', async () => {
    // At most 9 calls had ended well or were under way when the two that were kept failed.
    for (const inFlight of ['interrupt', 'keep'] as const) {
      const { after, stepCount } = await recorded(7, inFlight);
      const { reports, faults } = await replayed(after);
      expect(faults).toEqual([]);
      expect(reports).toMatchObject([
        { verdict: 'allowed', calls: 3, stepCount, figures: { steps: inFlight === 'keep' ? 9 : 10 } },
      ]);
      for (const [maxSteps, tool] of [
        [7, 'research'],
        [5, 'research'],
        [8, 'search'],
      ] as const) {
        const { reports } = await replayed(after, { enforcement: budgets(maxSteps, 3) });
        expect(reports).toMatchObject([{ verdict: 'step-budget', firstRefusal: { tool } }]);
      }
    }
  });

  it('both parts in one file are one run', async () => {
    for (const inFlight of ['interrupt', 'keep'] as const) {
      const { before, after, stepCount } = await recorded(7, inFlight);
      const { reports, faults } = await replayed(before + after);
      expect(faults).toEqual([]);
      expect(reports).toMatchObject([
        { verdict: 'allowed', calls: 10, stepCount, failed: inFlight === 'keep' ? 2 : 0 },
      ]);
    }
  });

  it('calls that began after it was saved have no result', async () => {
    const resumed = { state: { phase: 'IDLE', stepCount: 0, loopCount: {} }, calls: [] };
    const recording = lines(began('r'), call('r', 'a'), began('r', { resumed }), call('r', 'b'), ended('r'));
    const { reports, faults } = await replayed(recording);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ calls: 2, stepCount: 2 }]);
  });

  it('one that had ended stays ended, also where a call ends late', async () => {
    const state = { phase: 'ANSWERING', stepCount: 4, loopCount: {}, finished: true };
    const resumed = { state, calls: [{ seq: 1, id: '1', tool: 'a', parent: null }] };
    const recording = lines(
      began('r', { resumed }),
      ended('r', { call: '1', late: true, interrupted: true }),
      ended('r', { call: '1', late: true, seq: 1 }),
      call('r', 'b'),
    );
    const { reports, faults } = await replayed(recording);
    expect(faults).toEqual([]);
    expect(reports).toMatchObject([{ verdict: 'run-completed', stepCount: 4 }]);
  });

  it('begins in IDLE where the table has not the phase', async () => {
    const resumed = { state: { phase: 'REVIEWING', stepCount: 1, loopCount: { REVIEWING: 1 } }, calls: [] };
    const { reports } = await replayed(lines(began('r', { resumed }), call('r', 'b'), ended('r')));
    expect(reports).toMatchObject([{ verdict: 'allowed', stepCount: 2 }]);
  });
});

import { describe, expect, test } from 'vitest';
import {
  type CallStarted,
  createEnforcement,
  createMonitor,
  createSupervisor,
  DEFAULT_TRANSITIONS,
  type EnforcementOptions,
  type PhasegateEvent,
  type SupervisorOptions,
} from '../../src/index.ts';
import { flush, gate, outcomeOf, refusalOf } from './helpers.ts';

/** An enforcement, and what it tells, one short line an event. */
function listening(rules: SupervisorOptions = {}, options: EnforcementOptions = {}) {
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...options });
  const events: PhasegateEvent[] = [];
  enforcement.on((event) => events.push(event));
  const lines = () => events.splice(0).map(line);
  return { enforcement, events, lines };
}

function line(event: PhasegateEvent): string {
  switch (event.type) {
    case 'run.started':
      return `run.started ${event.run}`;
    case 'phase.entered':
      return `phase.entered ${event.from} > ${event.phase}`;
    case 'phase.proposed':
      return `phase.proposed ${event.target}: ${event.code ?? 'allowed'}`;
    case 'call.waiting':
    case 'call.started':
      return `${event.type} ${event.tool}`;
    case 'call.refused':
      return `call.refused ${event.tool}: ${event.code}`;
    case 'call.ended':
      return `call.ended ${event.tool}: ${event.ok ? 'well' : 'failed'}${event.late ? ', late' : ''}`;
    case 'run.ended':
      return `run.ended ${event.run} in ${event.phase}: ${event.reason}`;
  }
}

describe('The events of a run, in the order in which things happen', () => {
  test('of a call: each hop of the path (§5.2), its start, its end', async () => {
    const { enforcement, lines } = listening();
    await enforcement.withRun((run) => run.callTool('search', {}, () => 'found'), { id: 'r1' });
    expect(lines()).toEqual([
      'run.started r1',
      'phase.entered IDLE > PLANNING',
      'phase.entered PLANNING > ACTING',
      'call.started search',
      'phase.entered ACTING > OBSERVING',
      'call.ended search: well',
      'phase.entered OBSERVING > ANSWERING',
      'run.ended r1 in ANSWERING: null',
    ]);
  });

  test('the body starts after the event that says so', async () => {
    const { enforcement, lines } = listening();
    await enforcement
      .beginRun()
      .callTool('search', {}, () => expect(lines().at(-1)).toBe('call.started search'));
  });

  test('of a nested call: the self-loop on ACTING', async () => {
    const { enforcement, lines } = listening();
    const run = enforcement.beginRun({ id: 'r1' });
    const outer = await run.beforeCall('outer');
    lines();
    await run.callTool('inner', {}, () => 1, { parent: outer });
    expect(lines()).toEqual([
      'phase.entered ACTING > ACTING',
      'call.started inner',
      'call.ended inner: well',
    ]);
    run.failCall(outer, new Error('no'));
    expect(lines()).toEqual(['call.ended outer: failed']);
  });

  test('of a call that joins others: no phase is entered', async () => {
    const { enforcement, lines } = listening({}, { parallel: 'concurrent' });
    const run = enforcement.beginRun();
    await run.beforeCall('first');
    lines();
    await run.beforeCall('second');
    expect(lines()).toEqual(['call.started second']);
  });

  test('of a call that waits its turn', async () => {
    const { enforcement, lines } = listening();
    const run = enforcement.beginRun();
    const first = await run.beforeCall('first');
    lines();
    const second = run.beforeCall('second');
    expect(lines()).toEqual(['call.waiting second']);
    run.afterCall(first);
    await second;
    expect(lines()).toEqual([
      'phase.entered ACTING > OBSERVING',
      'call.ended first: well',
      'phase.entered OBSERVING > PLANNING',
      'phase.entered PLANNING > ACTING',
      'call.started second',
    ]);
  });

  test('of refusals: nothing but the refusal', async () => {
    const check = (call: { tool: string }) =>
      call.tool === 'bad' ? ({ allowed: false, code: 'no' } as const) : ({ allowed: true } as const);
    const monitor = createMonitor({}, { checks: [{ name: 'no-bad', check }] });
    const { enforcement, lines } = listening({ maxSteps: 1 }, { monitor });
    const run = enforcement.beginRun();
    lines();
    await refusalOf(run.callTool('bad', {}, () => 1));
    expect(lines()).toEqual(['call.refused bad: no']);
    await run.callTool('search', {}, () => 1);
    lines();
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(lines()).toEqual(['call.refused search: step-budget']);
    run.finish();
    lines();
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(lines()).toEqual(['call.refused search: run-completed']);
    await refusalOf(enforcement.tool('search', () => 1)());
    expect(lines()).toEqual(['call.refused search: no-active-run']);
  });

  test('of a policy that ends the run: the refusal, then the end', async () => {
    const { enforcement, lines } = listening({ maxSteps: 0, onBudgetExhausted: 'terminate' });
    const run = enforcement.beginRun({ id: 'r1' });
    lines();
    await refusalOf(run.callTool('search', {}, () => 1));
    expect(lines()).toEqual([
      'call.refused search: step-budget',
      'phase.entered IDLE > EXHAUSTED',
      'run.ended r1 in EXHAUSTED: Step budget exhausted: 0/0',
    ]);
  });

  test('of proposals: the phase, and the answer', () => {
    const { enforcement, lines } = listening();
    const run = enforcement.beginRun({ id: 'r1' });
    lines();
    run.propose('ACTING');
    expect(lines()).toEqual(['phase.proposed ACTING: illegal-transition']);
    run.propose('PLANNING');
    expect(lines()).toEqual(['phase.entered IDLE > PLANNING', 'phase.proposed PLANNING: allowed']);
    run.propose('ANSWERING');
    expect(lines().toSorted()).toEqual([
      'phase.entered PLANNING > ANSWERING',
      'phase.proposed ANSWERING: allowed',
      'run.ended r1 in ANSWERING: null',
    ]);
  });

  test('of the end: those who wait and the children first; what ends later is late', async () => {
    const { enforcement, lines } = listening();
    const run = enforcement.beginRun({ id: 'root' });
    const call = await run.beforeCall('delegate');
    const child = enforcement.beginRun({ id: 'child', parent: call });
    const inner = await child.beforeCall('search');
    const waiting = outcomeOf(run.callTool('waiting', {}, () => 1, { parent: null }));
    lines();
    run.abort('stop');
    const told = lines();
    expect(told.at(-1)).toBe('run.ended root in ANSWERING: stop');
    expect(told.toSorted()).toEqual([
      'call.refused waiting: run-completed',
      'phase.entered ACTING > ANSWERING',
      'phase.entered ACTING > ANSWERING',
      'run.ended child in ANSWERING: stop',
      'run.ended root in ANSWERING: stop',
    ]);
    expect(told.indexOf('run.ended child in ANSWERING: stop')).toBe(1);
    child.afterCall(inner);
    run.failCall(call);
    run.finish();
    expect(lines()).toEqual(['call.ended search: well, late', 'call.ended delegate: failed, late']);
    await waiting;
  });

  test('the end of a run is told once, and after it no phase is entered and no call starts', async () => {
    const { enforcement, events } = listening({}, { parallel: 'concurrent' });
    const hold = gate();
    const run = enforcement.beginRun({ timeoutMs: 60_000 });
    const calls = ['a', 'b', 'c'].map((tool) => outcomeOf(run.callTool(tool, {}, () => hold.passed)));
    await flush();
    run.abort('stop');
    run.finish();
    hold.open();
    await Promise.all(calls);
    await flush();
    const types = events.map(({ type }) => type);
    const end = types.indexOf('run.ended');
    expect(types.slice(end)).toEqual(['run.ended', 'call.ended', 'call.ended', 'call.ended']);
  });
});

describe('What an event carries', () => {
  test('of a call: the run, its id and its parent’s, the tool, the arguments, and the error of its end', async () => {
    const { enforcement, events } = listening();
    const run = enforcement.beginRun({ id: 'r1' });
    const args = { q: 'xstate' };
    const error = new Error('the tool failed');
    const outer = await run.beforeCall('outer', args, { callId: 'c1' });
    const failed = run.callTool('inner', 5, () => Promise.reject(error), { parent: outer, callId: 'c2' });
    await outcomeOf(failed);
    expect(events.find(({ type }) => type === 'call.started')).toEqual({
      type: 'call.started',
      time: expect.any(Number),
      run: 'r1',
      call: 'c1',
      seq: 1,
      tool: 'outer',
      parent: null,
      args,
      stepCount: 0,
      loopCount: 0,
      waitedMs: 0,
      decisionMs: expect.any(Number),
    });
    expect(events.filter(({ type }) => type === 'call.started').at(-1)).toMatchObject({
      call: 'c2',
      seq: 2,
      parent: 'c1',
      args: 5,
      loopCount: 1,
    });
    expect(events.at(-1)).toEqual({
      type: 'call.ended',
      time: expect.any(Number),
      run: 'r1',
      call: 'c2',
      seq: 2,
      tool: 'inner',
      ok: false,
      late: false,
      interrupted: false,
      error,
      stepCount: 0,
    });
    run.afterCall(outer);
    expect(events.at(-1)).toMatchObject({ call: 'c1', seq: 1, ok: true, stepCount: 1 });
  });

  test('of a refusal: the code, the message and the stage', async () => {
    const { enforcement, events } = listening({ maxSteps: 0 });
    const run = enforcement.beginRun({ id: 'r1' });
    const refusal = await refusalOf(run.callTool('search', { q: 1 }, () => 1));
    expect(events.at(-1)).toEqual({
      type: 'call.refused',
      time: expect.any(Number),
      run: 'r1',
      call: 'call-1',
      seq: 1,
      tool: 'search',
      parent: null,
      args: { q: 1 },
      code: refusal.code,
      message: refusal.message,
      stage: refusal.stage,
      phase: 'IDLE',
      stepCount: 0,
      loopCount: 0,
      waitedMs: 0,
      decisionMs: expect.any(Number),
    });
  });

  test('of a call that waited: how long it did, apart from its decision', async () => {
    const { enforcement, events } = listening();
    const run = enforcement.beginRun();
    const first = await run.beforeCall('first');
    const second = run.beforeCall('second');
    await new Promise((resolve) => setTimeout(resolve, 20));
    run.afterCall(first);
    await second;
    const { waitedMs, decisionMs } = events.at(-1) as CallStarted;
    expect(waitedMs).toBeGreaterThan(10);
    expect(decisionMs).toBeLessThan(waitedMs ?? 0);
  });

  test('of a call that nobody observed when it was asked for: no times', async () => {
    const enforcement = createEnforcement();
    const run = enforcement.beginRun();
    const first = await run.beforeCall('first');
    const second = run.beforeCall('second');
    const events: PhasegateEvent[] = [];
    enforcement.on((event) => events.push(event));
    run.afterCall(first);
    await second;
    expect(events.at(-1)).toMatchObject({ type: 'call.started', waitedMs: null, decisionMs: null });
  });

  test('of a run: what it is held to, with null for no limit and for the default table', () => {
    const { enforcement, events } = listening({ maxSteps: 20, maxLoopsPerPhase: Number.POSITIVE_INFINITY });
    enforcement.beginRun({ id: 'r1' });
    expect(events).toEqual([
      {
        type: 'run.started',
        time: expect.any(Number),
        run: 'r1',
        parent: null,
        call: null,
        resumed: null,
        budget: 'shared',
        maxSteps: 20,
        maxLoopsPerPhase: null,
        dfa: true,
        transitions: null,
      },
    ]);
  });

  test('of a run with a table of its own: its phases, and where each leads', () => {
    const { enforcement, events } = listening({
      phases: ['REVIEWING'],
      transitions: [...DEFAULT_TRANSITIONS, ['OBSERVING', 'REVIEWING'], ['REVIEWING', 'ACTING']],
    });
    enforcement.beginRun();
    expect(events[0]).toMatchObject({
      transitions: {
        IDLE: ['PLANNING'],
        PLANNING: ['ACTING', 'ANSWERING'],
        ACTING: ['OBSERVING'],
        OBSERVING: ['PLANNING', 'ANSWERING', 'REVIEWING'],
        ANSWERING: [],
        REJECTED: [],
        EXHAUSTED: [],
        REVIEWING: ['ACTING'],
      },
    });
  });

  test('of a child run: the parent run, and the call in whose body it was begun', async () => {
    const { enforcement, events } = listening();
    const root = enforcement.beginRun({ id: 'root' });
    const parent = await root.beforeCall('delegate', {}, { callId: 'c1' });
    enforcement.beginRun({ id: 'child', parent });
    expect(events[0]).toMatchObject({ type: 'run.started', run: 'root', parent: null, call: null });
    expect(events.at(-1)).toMatchObject({ type: 'run.started', run: 'child', parent: 'root', call: 'c1' });
  });

  test('can be written as JSON, where the arguments can', async () => {
    const { enforcement, events } = listening();
    await enforcement.withRun((run) => run.callTool('search', { q: 1 }, () => 'found'));
    expect(events.map((event) => JSON.parse(JSON.stringify(event)).type)).toEqual(
      events.map(({ type }) => type),
    );
  });
});

describe('enforcement.on', () => {
  test('tells of every run of its enforcement, and of no other', () => {
    const { enforcement, lines } = listening();
    createEnforcement().beginRun({ id: 'other' });
    enforcement.beginRun({ id: 'a' });
    enforcement.beginRun({ id: 'b' });
    expect(lines()).toEqual(['run.started a', 'run.started b']);
  });

  test('answers with a function that ends the subscription, and no other', () => {
    const enforcement = createEnforcement();
    const heard: string[] = [];
    const listener = () => heard.push('x');
    const off = enforcement.on(listener);
    enforcement.on(listener);
    enforcement.beginRun();
    expect(heard).toHaveLength(2);
    off();
    off();
    enforcement.beginRun();
    expect(heard).toHaveLength(3);
  });

  test('takes functions only', () => {
    for (const listener of [undefined, null, 'log', { handleEvent() {} }]) {
      expect(() => createEnforcement().on(listener as never)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
  });

  test('tells a listener of what happens from then on: not of the event in which it was added', () => {
    const enforcement = createEnforcement();
    const heard: string[] = [];
    let added = false;
    enforcement.on(() => {
      if (!added) enforcement.on(({ run }) => heard.push(String(run)));
      added = true;
    });
    enforcement.beginRun({ id: 'first' });
    enforcement.beginRun({ id: 'second' });
    expect(heard).toEqual(['second']);
  });

  test('a listener that subscribes itself again does not hold up the call for ever', () => {
    const enforcement = createEnforcement();
    let heard = 0;
    const listener = () => {
      heard += 1;
      if (heard < 1000) enforcement.on(listener);
    };
    enforcement.on(listener);
    enforcement.beginRun();
    expect(heard).toBe(1);
  });

  test('does not tell a listener that another one has just unsubscribed', () => {
    const enforcement = createEnforcement();
    let heard = 0;
    const offs: (() => void)[] = [];
    enforcement.on(() => {
      for (const off of offs) off();
    });
    offs.push(enforcement.on(() => ++heard));
    enforcement.beginRun();
    expect(heard).toBe(0);
  });
});

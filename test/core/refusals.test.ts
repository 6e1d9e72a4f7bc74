import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Decision,
  type EnforcementOptions,
  type RefusalCode,
  type SupervisorOptions,
} from '../../src/index.ts';
import { counters, gate, refusalOf } from './helpers.ts';

function begin(rules: SupervisorOptions = {}, options: EnforcementOptions = {}) {
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...options });
  return { enforcement, run: enforcement.beginRun({ id: 'r1' }) };
}

function said(decision: Decision): { code: RefusalCode; message: string } {
  if (decision.allowed) throw new Error('expected a refusal');
  return decision;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

// One test a row of the table, each through the public API, each with all that the refusal carries (§8.2).
describe('SPEC §3.3: the codes, and what they say', () => {
  test('step-budget: stepCount/maxSteps', async () => {
    const { run } = begin({ maxSteps: 20 });
    for (let i = 0; i < 20; i++) await run.callTool('search', { i }, () => i);
    const before = counters(run.state);
    const refusal = await refusalOf(run.callTool('search', {}, () => 21, { callId: 'c21' }));
    expect(refusal).toMatchObject({
      message: 'Step budget exhausted: 20/20',
      code: 'step-budget',
      stage: 'dfa',
      tool: 'search',
      callId: 'c21',
      runId: 'r1',
      result: null,
      phase: 'OBSERVING',
      stepCount: 20,
    });
    expect(said(run.validateActionPhase())).toMatchObject({ code: 'step-budget', message: refusal.message });
    expect(said(run.propose('PLANNING'))).toMatchObject({ code: 'step-budget', message: refusal.message });
    expect(counters(run.state)).toEqual(before);
  });

  test('step-budget: the calls in flight may be added', async () => {
    const { run } = begin({ maxSteps: 1 });
    const outer = await run.beforeCall('outer');
    expect(await refusalOf(run.beforeCall('inner', {}, { parent: outer }))).toMatchObject({
      message: 'Step budget exhausted: 0/1 (1 call in flight)',
      phase: 'ACTING',
      stepCount: 0,
    });
  });

  test('loop-budget: loopCount/maxLoopsPerPhase', async () => {
    const { run } = begin();
    await run.callTool('outer', {}, async (ctx) => {
      for (let i = 0; i < 3; i++) await ctx.callTool('inner', {}, () => i);
      const refusal = await refusalOf(ctx.callTool('inner', {}, () => 'never'));
      expect(refusal).toMatchObject({
        message: 'Loop budget exhausted in ACTING: 3/3',
        code: 'loop-budget',
        stage: 'dfa',
        result: null,
        phase: 'ACTING',
        stepCount: 3,
      });
    });
  });

  test('loop-budget: of any phase that loops on itself', () => {
    const supervisor = createSupervisor({ maxLoopsPerPhase: 0 });
    supervisor.addTransition('IDLE', 'IDLE');
    const run = createEnforcement({ supervisor }).beginRun();
    expect(said(run.propose('IDLE'))).toEqual({
      allowed: false,
      code: 'loop-budget',
      message: 'Loop budget exhausted in IDLE: 0/0',
    });
  });

  test('terminal-phase', () => {
    const { run } = begin();
    run.finish();
    for (const decision of [run.propose('PLANNING'), run.validateActionPhase()]) {
      expect(said(decision)).toMatchObject({
        code: 'terminal-phase',
        message: 'Phase ANSWERING is terminal',
      });
    }
  });

  test('illegal-transition: from where to where, and what is legal', () => {
    const { run } = begin();
    run.propose('PLANNING');
    expect(said(run.propose('OBSERVING'))).toMatchObject({
      code: 'illegal-transition',
      message: 'Illegal transition: PLANNING -> OBSERVING (legal from PLANNING: ACTING, ANSWERING)',
    });
    expect(run.state.phase).toBe('PLANNING');
  });

  test('action-unreachable', async () => {
    const supervisor = createSupervisor();
    supervisor.removeTransition('OBSERVING', 'PLANNING');
    const run = createEnforcement({ supervisor }).beginRun();
    await run.callTool('search', {}, () => 'found');
    const refusal = await refusalOf(run.callTool('search', {}, () => 'found'));
    expect(refusal).toMatchObject({
      message: 'ACTING cannot be reached from OBSERVING',
      code: 'action-unreachable',
      stage: 'dfa',
      result: null,
      phase: 'OBSERVING',
    });
    expect(said(run.validateActionPhase()).message).toBe(refusal.message);
    expect(run.state.phase).toBe('OBSERVING');
  });

  test('unknown-phase', () => {
    const { run } = begin();
    expect(said(run.propose('FOO'))).toMatchObject({
      code: 'unknown-phase',
      message: 'Unknown phase: "FOO"',
    });
  });

  test('call-in-flight', async () => {
    const { run } = begin();
    const outer = await run.beforeCall('outer');
    expect(said(run.propose('OBSERVING'))).toMatchObject({
      code: 'call-in-flight',
      message: 'Cannot move from ACTING: 1 call in flight',
    });
    await run.beforeCall('inner', {}, { parent: outer });
    expect(said(run.propose('OBSERVING')).message).toBe('Cannot move from ACTING: 2 calls in flight');
  });

  test('call-in-flight: also while a call is reserved and its check pending', async () => {
    const pending = gate<{ allowed: true }>();
    const monitor = createMonitor({}, { checks: [{ name: 'slow', check: () => pending.passed }] });
    const { run } = begin({}, { monitor });
    const asked = run.beforeCall('search');
    expect(said(run.propose('PLANNING'))).toMatchObject({
      code: 'call-in-flight',
      message: 'Cannot move from IDLE: 1 call in flight',
    });
    pending.open({ allowed: true });
    await asked;
  });

  test('run-completed', async () => {
    const { run } = begin();
    run.finish();
    expect(await refusalOf(run.callTool('search', {}, () => 'found'))).toMatchObject({
      message: 'Cannot call search: agent run is already completed',
      code: 'run-completed',
      stage: 'enforcement',
      result: null,
      phase: 'ANSWERING',
    });
  });

  test('run-completed: the reason of an abort', async () => {
    const { run } = begin();
    run.abort('the user left');
    expect(await refusalOf(run.callTool('search', {}, () => 'found'))).toMatchObject({
      message: 'Cannot call search: agent run is already completed: the user left',
    });
  });

  test('no-active-run', async () => {
    const { enforcement } = begin();
    const search = enforcement.tool('search', () => 'found');
    expect(await refusalOf(search())).toMatchObject({
      message: 'Cannot call search: no agent run is active',
      code: 'no-active-run',
      stage: 'enforcement',
      tool: 'search',
      callId: null,
      runId: null,
      result: null,
      phase: null,
      stepCount: 0,
    });
  });

  test('check-refused: what the check said', async () => {
    const check = () => ({ allowed: false, message: 'No mail today' }) as const;
    const { run } = begin({}, { monitor: createMonitor({}, { checks: [{ name: 'no-mail', check }] }) });
    expect(await refusalOf(run.callTool('send_email', {}, () => 'sent'))).toMatchObject({
      message: 'No mail today',
      code: 'check-refused',
      stage: 'no-mail',
      phase: 'IDLE',
    });
  });

  test('check-refused: or the code of the check’s own', async () => {
    const check = () => ({ allowed: false, code: 'quota', message: 'No more mail today' }) as const;
    const { run } = begin({}, { monitor: createMonitor({}, { checks: [{ name: 'no-mail', check }] }) });
    expect(await refusalOf(run.callTool('send_email', {}, () => 'sent'))).toMatchObject({ code: 'quota' });
  });

  test('check-failed: the check, and its error', async () => {
    const check = () => {
      throw new Error('no connection');
    };
    const { run } = begin({}, { monitor: createMonitor({}, { checks: [{ name: 'budget', check }] }) });
    expect(await refusalOf(run.callTool('search', {}, () => 'found'))).toMatchObject({
      message: 'Check "budget" failed: no connection',
      code: 'check-failed',
      stage: 'budget',
    });
  });

  test('check-failed: or what it answered instead of a decision', async () => {
    const monitor = createMonitor({}, { checks: [{ name: 'budget', check: () => undefined as never }] });
    const { run } = begin({}, { monitor });
    expect(await refusalOf(run.callTool('search', {}, () => 'found'))).toMatchObject({
      message: 'Check "budget" failed: answered undefined instead of a decision',
      code: 'check-failed',
    });
  });

  test('wait-timeout: how long, and for what', async () => {
    const { run } = begin();
    await run.beforeCall('read_file');
    const waiting = run.callTool('search', {}, () => 'found', { parent: null });
    vi.advanceTimersByTime(300_000);
    const refusal = await refusalOf(waiting);
    expect(refusal).toMatchObject({ code: 'wait-timeout', stage: 'enforcement', result: null });
    expect(refusal.message).toContain(
      'Cannot call search: waited 300000 ms for read_file, which is still running',
    );
    // How to hand on the context, for the one who reads the log.
    expect(refusal.message).toContain('ctx.callTool');
  });

  test('depth-exceeded, when the run is begun', async () => {
    const { enforcement, run } = begin();
    let current = run;
    for (let depth = 1; depth <= 5; depth++) {
      current = enforcement.beginRun({ parent: await current.beforeCall('delegate') }) as typeof run;
      expect(current.depth).toBe(depth);
    }
    const parent = await current.beforeCall('delegate');
    const refusal = await refusalOf((async () => enforcement.beginRun({ parent }))());
    expect(refusal).toMatchObject({
      message: 'Runs nest deeper than 5',
      code: 'depth-exceeded',
      stage: 'enforcement',
      tool: 'delegate',
      runId: current.id,
    });
  });
});

describe('SPEC §8.2: a refusal tells the model what is legal instead', () => {
  test('in a sentence or two of its own for each cause', async () => {
    const { run } = begin({ maxSteps: 1 });
    await run.callTool('search', {}, () => 'found');
    const spent = await refusalOf(run.callTool('search', {}, () => 'found'));
    expect(spent.hint).toMatch(/answer/i);
    run.finish();
    const ended = await refusalOf(run.callTool('search', {}, () => 'found'));
    expect(ended.hint).toMatch(/ended/i);
    expect(ended.hint).not.toBe(spent.hint);
  });

  test.each(['quota', 'constructor', '__proto__', 'toString', 'valueOf'])(
    'also where a check has a code of its own, such as %s',
    async (code) => {
      const check = () => ({ allowed: false, code, message: 'no' }) as const;
      const { run } = begin({}, { monitor: createMonitor({}, { checks: [{ name: 'own', check }] }) });
      const refusal = await refusalOf(run.callTool('search', {}, () => 'found'));
      expect(refusal.code).toBe(code);
      expect(refusal.hint).toBeTypeOf('string');
      expect(refusal.hint).toMatch(/\.$/);
    },
  );
});

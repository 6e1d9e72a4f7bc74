import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { describe, expect, test } from 'vitest';
import {
  createEnforcement,
  createMonitor,
  createSupervisor,
  type Enforcement,
  type EnforcementOptions,
  type PhasegateEvent,
} from '../../src/index.ts';
import { type OtelOptions, otel } from '../../src/otel/index.ts';
import { readSettings } from '../../src/otel/options.ts';
import { Traces } from '../../src/otel/traces.ts';
import { collectGarbage, gate, outcomeOf } from '../core/helpers.ts';
import { globalTracing, only } from './support.ts';

const { spans, span, tree, forget } = globalTracing();

function traced(options: EnforcementOptions = {}, telemetry: OtelOptions = {}): Enforcement {
  const enforcement = createEnforcement(options);
  enforcement.on(otel(telemetry));
  return enforcement;
}

const twoSteps = { supervisor: createSupervisor({ maxSteps: 2 }) };

test('A call that was told to have started, and is refused by another observer, has one span that is over', () => {
  const enforcement = createEnforcement(twoSteps);
  enforcement.on({ ...otel(), required: true });
  const listen = ({ type }: PhasegateEvent) => {
    if (type === 'call.started') throw new Error('the disk is full');
  };
  enforcement.on({ listen, required: true });
  const run = enforcement.beginRun();
  run.admit('search');
  expect(spans()).toHaveLength(1);
  expect(span('execute_tool search').attributes).toMatchObject({
    'phasegate.decision': 'refused',
    'phasegate.phase.before': 'IDLE',
    'error.type': 'observer-failed',
  });
  run.finish();
  expect(tree()).toEqual(['invoke_agent', '  execute_tool search']);
});

describe('A run that was saved, and is resumed', () => {
  /** A run with a call, saved in its body, and another one nested in that. */
  async function saved() {
    const run = createEnforcement(twoSteps).beginRun({ id: 'r1' });
    const outer = await run.beforeCall('outer', {}, { callId: 'c1' });
    await run.beforeCall('inner', {}, { callId: 'c2', parent: outer });
    return run.save();
  }

  test('has its interrupted calls as failed, as nobody knows how they ended', async () => {
    traced(twoSteps)
      .resumeRun(await saved(), { inFlight: 'interrupt' })
      .finish();
    expect(tree()).toEqual(['invoke_agent', '  execute_tool outer', '    execute_tool inner']);
    for (const name of ['outer', 'inner']) {
      const call = span(`execute_tool ${name}`);
      expect(call.status.code).toBe(SpanStatusCode.ERROR);
      expect(call.attributes).toMatchObject({
        'error.type': 'interrupted',
        'phasegate.decision': 'admitted',
      });
    }
    expect(span('invoke_agent').attributes).toMatchObject({ 'phasegate.steps.used': 2 });
  });

  test('has its calls that go on, and knows where it was', async () => {
    const run = traced({ ...twoSteps, parallel: 'concurrent' }).resumeRun(await saved(), {
      inFlight: 'keep',
    });
    await run.beforeCall('beside', {}).catch(() => {});
    for (const call of run.callsInFlight.toReversed()) run.afterCall(call);
    run.finish();
    expect(tree()).toEqual([
      'invoke_agent',
      '  execute_tool outer',
      '    execute_tool inner',
      '  execute_tool beside',
    ]);
    expect(span('execute_tool outer').status.code).toBe(SpanStatusCode.UNSET);
    expect(span('execute_tool beside').attributes).toMatchObject({ 'phasegate.phase.before': 'ACTING' });
  });

  test('has no span if it had ended, as that would have no end', async () => {
    const run = createEnforcement().beginRun();
    run.finish();
    const enforcement = traced();
    const again = enforcement.resumeRun(run.save());
    await outcomeOf(again.callTool('search', {}, () => {}));
    // The same id, which would end what is open of it.
    enforcement.beginRun({ id: run.id }).finish();
    expect(tree()).toEqual(['execute_tool search', 'invoke_agent']);
  });

  test('knows where it was for its first call', async () => {
    const run = createEnforcement().beginRun();
    await run.callTool('search', {}, () => {});
    await traced()
      .resumeRun(run.save())
      .callTool('read', {}, () => {});
    expect(span('execute_tool read').attributes).toMatchObject({ 'phasegate.phase.before': 'OBSERVING' });
  });
});

describe('A run', () => {
  test('is a span, from its beginning to its end', async () => {
    await traced(twoSteps, { agentName: 'researcher', conversationId: ({ run }) => `of ${run}` }).withRun(
      (run) => run.callTool('search', {}, () => 'found'),
      { id: 'r1' },
    );
    const run = span('invoke_agent researcher');
    expect(run.kind).toBe(SpanKind.INTERNAL);
    expect(run.instrumentationScope.name).toBe('phasegate');
    expect(run.instrumentationScope.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(run.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'researcher',
      'gen_ai.conversation.id': 'of r1',
      'phasegate.run.id': 'r1',
      'phasegate.phase': 'ANSWERING',
      'phasegate.steps.used': 1,
      'phasegate.steps.left': 1,
    });
    expect(run.status.code).toBe(SpanStatusCode.UNSET);
  });

  test('without a name is called after what it does, and has no steps left to tell without a limit', async () => {
    await traced({ supervisor: createSupervisor({ maxSteps: Number.POSITIVE_INFINITY }) }).withRun(() => 1);
    expect(span('invoke_agent').attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'phasegate.run.id': expect.any(String),
      'phasegate.phase': 'ANSWERING',
      'phasegate.steps.used': 0,
    });
  });

  test('without the dfa stage has no limit that holds', async () => {
    await traced({ ...twoSteps, enabledChecks: [] }).withRun(() => 1);
    expect(span('invoke_agent').attributes).not.toHaveProperty(['phasegate.steps.left']);
  });

  test('that was aborted has failed, and tells why', async () => {
    const enforcement = traced();
    enforcement.beginRun().abort('the user left');
    const run = span('invoke_agent');
    expect(run.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the user left' });
    expect(run.attributes).toMatchObject({
      'error.type': 'run-aborted',
      'phasegate.run.reason': 'the user left',
    });
  });

  test('that a refusal has ended tells which', async () => {
    const supervisor = createSupervisor({ maxSteps: 0, onBudgetExhausted: 'terminate' });
    const run = traced({ supervisor }).beginRun();
    await outcomeOf(run.callTool('search', {}, () => 1));
    expect(span('invoke_agent').attributes).toMatchObject({
      'error.type': 'step-budget',
      'phasegate.phase': 'EXHAUSTED',
      'phasegate.run.reason': 'Step budget exhausted: 0/0',
    });
  });

  test('is named by a function that knows more of it, unless that throws', async () => {
    const agentName = ({ parent }: { parent: string | null }) => {
      if (parent === null) throw new Error('boom');
      return 'helper';
    };
    const enforcement = traced({}, { agentName, conversationId: () => 7 as never });
    await enforcement.withRun((run) => run.callTool('ask', {}, () => enforcement.withRun(() => 1)));
    expect(tree()).toEqual(['invoke_agent', '  execute_tool ask', '    invoke_agent helper']);
    expect(span('invoke_agent').attributes).not.toHaveProperty(['gen_ai.conversation.id']);
  });
});

describe('A call that was admitted', () => {
  test('is a span below its run, and tells how it was decided and where it led', async () => {
    await traced(twoSteps).withRun(
      (run) => run.callTool('search', { q: 'secret' }, () => 1, { callId: 'call_9' }),
      { id: 'r1' },
    );
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search']);
    const call = span('execute_tool search');
    expect(call.kind).toBe(SpanKind.INTERNAL);
    expect(call.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': 'call_9',
      'phasegate.run.id': 'r1',
      'phasegate.decision': 'admitted',
      'phasegate.phase.before': 'IDLE',
      'phasegate.phase.after': 'OBSERVING',
      'phasegate.steps.used': 1,
      'phasegate.steps.left': 1,
      'phasegate.wait.duration': 0,
      'phasegate.decision.duration': expect.any(Number),
    });
    expect(call.status.code).toBe(SpanStatusCode.UNSET);
  });

  test('that failed tells the class of the error, and stays where it was', async () => {
    const run = traced().beginRun();
    await outcomeOf(run.callTool('search', {}, () => Promise.reject(new TypeError('no such page'))));
    const { attributes, status } = span('execute_tool search');
    expect(attributes).toMatchObject({ 'error.type': 'TypeError', 'phasegate.phase.after': 'ACTING' });
    expect(status).toEqual({ code: SpanStatusCode.ERROR, message: 'no such page' });
  });

  test.each([
    ['a text', 'boom'],
    ['an error with a name like no class', Object.assign(new Error('boom'), { name: 'user 17: boom' })],
    ['an error whose name throws', Object.defineProperty(new Error(), 'name', { get: () => thrown() })],
    ['a proxy that throws at every touch', new Proxy({}, { get: thrown, getPrototypeOf: thrown })],
  ])('that threw %s has an error of some kind', async (_, error) => {
    const run = traced().beginRun();
    await outcomeOf(run.callTool('search', {}, () => Promise.reject(error)));
    expect(span('execute_tool search').attributes['error.type']).toBe('_OTHER');
  });

  test('after a failed one is a loop on ACTING', async () => {
    const run = traced().beginRun();
    await outcomeOf(run.callTool('first', {}, () => Promise.reject(new Error('boom'))));
    await run.callTool('second', {}, () => 1);
    expect(span('execute_tool second').attributes).toMatchObject({
      'phasegate.phase.before': 'ACTING',
      'phasegate.phase.after': 'OBSERVING',
    });
  });

  test('begins where it was decided from, not where a proposal had come from', async () => {
    const run = traced().beginRun();
    run.propose('PLANNING');
    await run.callTool('search', {}, () => 1);
    expect(span('execute_tool search').attributes['phasegate.phase.before']).toBe('PLANNING');
  });

  test('tells for how long it waited its turn', async () => {
    const run = traced().beginRun();
    const first = gate();
    const calls = [run.callTool('first', {}, () => first.passed), run.callTool('second', {}, () => 1)];
    setTimeout(() => first.open(), 20);
    await Promise.all(calls);
    expect(span('execute_tool first').attributes['phasegate.wait.duration']).toBe(0);
    expect(span('execute_tool second').attributes['phasegate.wait.duration']).toBeGreaterThan(0.01);
  });

  test('of a run that ends before it has failed, and ends with it', async () => {
    const run = traced().beginRun();
    const body = gate();
    const call = run.callTool('slow', {}, () => body.passed);
    run.finish();
    const { attributes, status } = span('execute_tool slow');
    expect(attributes['error.type']).toBe('run-completed');
    expect(status.message).toBe('The run ended before the call');
    body.open();
    await call;
    expect(spans()).toHaveLength(2);
  });
});

describe('A call that was refused', () => {
  test('is a span of no length, and an event of the run', async () => {
    const run = traced({ supervisor: createSupervisor({ maxSteps: 0 }) }).beginRun({ id: 'r1' });
    await outcomeOf(run.callTool('search', {}, () => 1, { callId: 'call_9' }));
    run.finish();
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search']);
    const call = span('execute_tool search');
    expect(call.endTime).toEqual(call.startTime);
    expect(call.status).toEqual({ code: SpanStatusCode.ERROR, message: 'Step budget exhausted: 0/0' });
    expect(call.attributes).toEqual({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': 'call_9',
      'error.type': 'step-budget',
      'phasegate.run.id': 'r1',
      'phasegate.decision': 'refused',
      'phasegate.code': 'step-budget',
      'phasegate.stage': 'dfa',
      'phasegate.message': 'Step budget exhausted: 0/0',
      'phasegate.phase.before': 'IDLE',
      'phasegate.steps.used': 0,
      'phasegate.steps.left': 0,
      'phasegate.wait.duration': 0,
      'phasegate.decision.duration': expect.any(Number),
    });
    const event = only(span('invoke_agent').events);
    expect(event.name).toBe('phasegate.refusal');
    expect(event.attributes).toEqual({
      'gen_ai.tool.name': 'search',
      'gen_ai.tool.call.id': 'call_9',
      'phasegate.code': 'step-budget',
      'phasegate.stage': 'dfa',
      'phasegate.message': 'Step budget exhausted: 0/0',
    });
  });

  test('by a code of a check is of one type with all of them, and keeps its code beside', async () => {
    const monitor = createMonitor(undefined, {
      checks: [
        { name: 'owner', check: () => ({ allowed: false, code: 'not-of-user-4711', message: 'Not yours' }) },
      ],
    });
    const run = traced({ monitor }).beginRun();
    await outcomeOf(run.callTool('search', {}, () => 1));
    expect(span('execute_tool search').attributes).toMatchObject({
      'error.type': 'check-refused',
      'phasegate.code': 'not-of-user-4711',
      'phasegate.stage': 'owner',
    });
  });

  test('after the end of its run, or without one, is a span all the same', async () => {
    const enforcement = traced();
    const run = enforcement.beginRun();
    run.finish();
    await outcomeOf(run.callTool('late', {}, () => 1));
    await outcomeOf(enforcement.tool('stray', () => 1)());
    expect(tree()).toEqual(['invoke_agent', 'execute_tool late', 'execute_tool stray']);
    expect(span('execute_tool late').attributes['error.type']).toBe('run-completed');
    expect(span('execute_tool stray').attributes).toMatchObject({
      'error.type': 'no-active-run',
      'phasegate.code': 'no-active-run',
    });
  });
});

describe('What tools are called with', () => {
  const argumentsOf = async (captureArguments: OtelOptions['captureArguments'], args: unknown) => {
    await traced({}, { captureArguments }).withRun((run) => run.callTool('search', args, () => 1));
    return span('execute_tool search').attributes['gen_ai.tool.call.arguments'];
  };

  test('is nobody else’s concern', async () => {
    expect(await argumentsOf(undefined, { q: 'secret' })).toBeUndefined();
  });

  test('is told on demand, as JSON', async () => {
    expect(await argumentsOf(true, { q: 'public' })).toBe('{"q":"public"}');
  });

  test('is told as far as a function lets it be seen', async () => {
    const redact = (args: unknown, tool: string) => ({ tool, keys: Object.keys(args as object) });
    expect(await argumentsOf(redact, { q: 'secret' })).toBe('{"tool":"search","keys":["q"]}');
  });

  test.each([
    ['nothing', undefined],
    ['what is no JSON', 1n],
  ])('is not told where it is %s', async (_, args) => {
    expect(await argumentsOf(true, args)).toBeUndefined();
  });

  test('is cut where it is long', async () => {
    expect(await argumentsOf(true, 'x'.repeat(100_000))).toHaveLength(8192);
  });
});

describe('Names that a model made up', () => {
  test('are cut, and have whole characters only', async () => {
    const tool = `${'x'.repeat(98)}😀${'y'.repeat(1_000_000)}`;
    const run = traced().beginRun({ id: tool });
    await run.callTool(tool, {}, () => 1, { callId: tool });
    run.abort(tool);
    const short = `${'x'.repeat(98)}\ufffd…`;
    const call = span(`execute_tool ${short}`);
    expect(call.attributes).toMatchObject({
      'gen_ai.tool.name': short,
      'gen_ai.tool.call.id': short,
      'phasegate.run.id': short,
    });
    expect(span('invoke_agent').attributes['phasegate.run.reason']).toHaveLength(500);
  });
});

test('Half a character of a model is none of a span', async () => {
  await traced().withRun((run) => run.callTool('a\ud800b😀', {}, () => 1));
  expect(tree()).toEqual(['invoke_agent', '  execute_tool a\ufffdb😀']);
});

describe('What is never ended', () => {
  test('is forgotten when the run ends', async () => {
    const enforcement = traced();
    const leave = async () => {
      const run = enforcement.beginRun();
      await run.beforeCall('search');
      const active = run.inside(() => trace.getActiveSpan());
      run.finish();
      return new WeakRef(active ?? {});
    };
    const span = await leave();
    expect(tree()).toEqual(['invoke_agent', '  execute_tool search']);
    forget();
    await new Promise((resolve) => setTimeout(resolve));
    collectGarbage();
    expect(span.deref()).toBeUndefined();
    expect(enforcement.currentRun()).toBeNull();
  });

  test('is forgotten when too many runs have begun since, and its span ends', () => {
    const traces = new Traces(readSettings({}), 2);
    const enforcement = createEnforcement();
    enforcement.on((event) => traces.hear(event));
    const runs = Array.from({ length: 3 }, (_, index) => enforcement.beginRun({ id: `r${index}` }));
    expect(spans().map(({ attributes }) => attributes['phasegate.run.id'])).toEqual(['r0']);
    for (const run of runs) run.finish();
    expect(spans()).toHaveLength(3);
  });

  test('does not hold up another run of the same id', async () => {
    const enforcement = traced();
    const [first, second] = [enforcement.beginRun({ id: 'same' }), enforcement.beginRun({ id: 'same' })];
    expect(spans()).toHaveLength(1);
    await second.callTool('search', {}, () => 1);
    second.finish();
    first.finish();
    expect(tree()).toEqual(['invoke_agent', 'invoke_agent', '  execute_tool search']);
  });
});

test('Two enforcements with runs of one id do not disturb each other', async () => {
  const enforcements = [traced(), traced()];
  const runs = enforcements.map((enforcement) => enforcement.beginRun({ id: 'same' }));
  await Promise.all(runs.map((run, index) => run.callTool(`tool ${index}`, {}, () => 1)));
  for (const run of runs) run.finish();
  expect(tree()).toEqual(['invoke_agent', '  execute_tool tool 0', 'invoke_agent', '  execute_tool tool 1']);
});

test('Of a run that was live before, only refusals are told', async () => {
  const enforcement = createEnforcement(twoSteps);
  const run = enforcement.beginRun();
  const early = await run.beforeCall('early');
  enforcement.on(otel());
  run.afterCall(early);
  await run.callTool('search', {}, () => 1);
  await outcomeOf(run.callTool('more', {}, () => 1));
  run.finish();
  expect(tree()).toEqual(['execute_tool more']);
});

test('Nothing is told any more once the subscription has ended', async () => {
  const enforcement = createEnforcement();
  const off = enforcement.on(otel());
  off();
  await enforcement.withRun((run) => run.callTool('search', {}, () => 1));
  expect(spans()).toEqual([]);
});

test('Calls of one millisecond keep their order, and none seems to lie in another', async () => {
  await traced({ supervisor: createSupervisor({ maxSteps: 100 }) }).withRun(async (run) => {
    for (let i = 0; i < 100; i++) await run.callTool(`tool ${i}`, {}, () => i);
  });
  const nanos = ([s, ns]: readonly [number, number]) => BigInt(s) * 1_000_000_000n + BigInt(ns);
  const calls = spans().filter(({ name }) => name !== 'invoke_agent');
  expect(calls.map(({ name }) => name)).toEqual(
    Array.from({ length: 100 }, (_, i) => `execute_tool tool ${i}`),
  );
  const overlaps = calls.filter(
    ({ startTime }, i) => i > 0 && nanos(startTime) <= nanos(calls[i - 1]?.endTime ?? [0, 0]),
  );
  expect(overlaps).toEqual([]);
});

function thrown(): never {
  throw new Error('boom');
}

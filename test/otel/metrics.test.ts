import { metrics } from '@opentelemetry/api';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import { describe, expect, test } from 'vitest';
import { createEnforcement, createMonitor, createSupervisor, type Run } from '../../src/index.ts';
import { type OtelOptions, otel } from '../../src/otel/index.ts';
import { gate, outcomeOf } from '../core/helpers.ts';
import { metering, only } from './support.ts';

function metered(maxSteps: number, options: OtelOptions = {}) {
  const { provider, read } = metering();
  const monitor = createMonitor(undefined, {
    dfaSupervisor: createSupervisor({ maxSteps }),
    checks: [
      {
        name: 'policy',
        check: ({ tool }) =>
          tool.startsWith('deny ')
            ? { allowed: false, code: tool.slice('deny '.length), message: 'No' }
            : { allowed: true },
      },
    ],
  });
  const enforcement = createEnforcement({ monitor });
  enforcement.on(otel({ meterProvider: provider, ...options }));
  /** The values of a counter, by those attributes. */
  const counts = async (name: string, ...keys: string[]) => {
    const { points } = await read(name);
    return Object.fromEntries(
      points.map(({ attributes, value }) => [keys.map((key) => attributes[key]).join(' '), value]),
    );
  };
  const ask = (run: Run, tool: string) => outcomeOf(run.callTool(tool, {}, () => 1));
  return { enforcement, read, counts, ask };
}

test('Calls are counted by tool and decision, and refusals by code', async () => {
  const { enforcement, read, counts, ask } = metered(2);
  await enforcement.withRun(async (run) => {
    for (const tool of ['search', 'deny hourly', 'read', 'search', 'read']) await ask(run, tool);
  });
  expect((await read('phasegate.calls')).unit).toBe('{call}');
  expect(await counts('phasegate.calls', 'phasegate.decision', 'gen_ai.tool.name')).toEqual({
    'admitted search': 1,
    'admitted read': 1,
    'refused search': 1,
    'refused read': 1,
    'refused _other': 1,
  });
  expect(await counts('phasegate.refusals', 'phasegate.code', 'gen_ai.tool.name')).toEqual({
    'step-budget search': 1,
    'step-budget read': 1,
    'hourly _other': 1,
  });
});

test('What is left at the end of a run, by its phase and its agent', async () => {
  const { enforcement, read, ask } = metered(5, { agentName: 'researcher' });
  await enforcement.withRun(async (run) => {
    await ask(run, 'search');
    await ask(run, 'search');
  });
  const { unit, points } = await read('phasegate.steps.left');
  const { attributes, value } = only(points as DataPoint<Histogram>[]);
  expect([unit, value.count, value.sum]).toEqual(['{step}', 1, 3]);
  expect(attributes).toEqual({ 'gen_ai.agent.name': 'researcher', 'phasegate.phase': 'ANSWERING' });
});

test('Nothing is left over where nothing is limited', async () => {
  const { enforcement, read } = metered(Number.POSITIVE_INFINITY);
  await enforcement.withRun(() => 1);
  expect((await read('phasegate.steps.left')).points).toEqual([]);
});

test('Times are told in seconds: of every decision, and of calls that waited', async () => {
  const { enforcement, read, ask } = metered(5);
  await enforcement.withRun(async (run) => {
    const open = gate();
    const calls = [run.callTool('slow', {}, () => open.passed), ask(run, 'search')];
    setTimeout(() => open.open(), 20);
    await Promise.all(calls);
  });
  const decisions = await read('phasegate.decision.duration');
  const decided = only(decisions.points as DataPoint<Histogram>[]).value;
  expect([decisions.unit, decided.count]).toEqual(['s', 2]);
  expect(decided.sum).toBeGreaterThan(0);
  const waits = await read('phasegate.wait.duration');
  const waited = only(waits.points as DataPoint<Histogram>[]).value;
  expect([waits.unit, waited.count]).toEqual(['s', 1]);
  expect(waited.sum).toBeGreaterThan(0.01);
  expect(waited.sum).toBeLessThan(10);
});

describe('However many names models and checks make up', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `name ${index}`);

  test('tools that were admitted are told apart up to a limit', async () => {
    const { enforcement, counts, ask } = metered(5000, { maxNames: 3 });
    await enforcement.withRun(async (run) => {
      for (const name of names) await ask(run, name);
    });
    expect(await counts('phasegate.calls', 'gen_ai.tool.name')).toEqual({
      'name 0': 1,
      'name 1': 1,
      'name 2': 1,
      _other: 997,
    });
  });

  test('tools that never were admitted are one', async () => {
    const { enforcement, counts, ask } = metered(0);
    await enforcement.withRun(async (run) => {
      for (const name of names) await ask(run, name);
    });
    expect(await counts('phasegate.calls', 'gen_ai.tool.name')).toEqual({ _other: 1000 });
  });

  test('codes of checks are told apart up to a limit, beside those of the package', async () => {
    const { enforcement, counts, ask } = metered(1, { maxNames: 2 });
    await enforcement.withRun(async (run) => {
      for (const name of names) await ask(run, `deny ${name}`);
      await ask(run, 'search');
      await ask(run, 'search');
    });
    expect(await counts('phasegate.refusals', 'phasegate.code')).toEqual({
      'name 0': 1,
      'name 1': 1,
      _other: 998,
      'step-budget': 1,
    });
  });

  test('agents are told apart up to a limit', async () => {
    const { enforcement, counts, ask } = metered(1, { maxNames: 2, agentName: ({ run }) => run });
    for (const id of names.slice(0, 5)) await enforcement.withRun((run) => ask(run, 'search'), { id });
    expect(await counts('phasegate.calls', 'gen_ai.agent.name')).toEqual({
      'name 0': 1,
      'name 1': 1,
      _other: 3,
    });
  });

  test('a name that is long is cut', async () => {
    const { enforcement, counts, ask } = metered(1);
    await enforcement.withRun((run) => ask(run, 'x'.repeat(10_000)));
    expect(await counts('phasegate.calls', 'gen_ai.tool.name')).toEqual({ [`${'x'.repeat(99)}…`]: 1 });
  });
});

test('The global provider counts, also one that is set after the observer was made', async () => {
  const { provider, read } = metering();
  const enforcement = createEnforcement();
  enforcement.on(otel());
  metrics.setGlobalMeterProvider(provider);
  await enforcement.withRun((run) => run.callTool('search', {}, () => 1));
  metrics.disable();
  expect((await read('phasegate.calls')).points).toHaveLength(1);
});

test('A call outside of any run is counted', async () => {
  const { enforcement, counts } = metered(5);
  await outcomeOf(enforcement.tool('search', () => 1)());
  expect(await counts('phasegate.refusals', 'phasegate.code')).toEqual({ 'no-active-run': 1 });
});

test('Calls of a run that was live before are counted', async () => {
  const { provider, read } = metering();
  const enforcement = createEnforcement();
  const run = enforcement.beginRun();
  enforcement.on(otel({ meterProvider: provider }));
  await run.callTool('search', {}, () => 1);
  run.finish();
  expect((await read('phasegate.calls')).points).toHaveLength(1);
  expect((await read('phasegate.steps.left')).points).toEqual([]);
});

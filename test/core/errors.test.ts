import { afterAll, describe, expect, test, vi } from 'vitest';
import { describe as describeValue } from '../../src/describe.ts';
import {
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  isToolExecutionBlocked,
  PhasegateError,
  RunAbortedError,
  ToolExecutionBlocked,
} from '../../src/index.ts';
import { refusalOf } from './helpers.ts';

// Much work in one test, and no deadline of its own: a busy machine is no fault.
vi.setConfig({ testTimeout: 60_000 });

const blocked = new ToolExecutionBlocked('Step budget exhausted: 1/1', {
  tool: 'search',
  callId: 'c1',
  runId: 'r1',
  stage: 'dfa',
  code: 'step-budget',
  result: null,
  phase: 'OBSERVING',
  stepCount: 1,
});

describe('Every error of the package', () => {
  test('is an Error, and has a name and a code', () => {
    expect(blocked).toBeInstanceOf(Error);
    expect(blocked).toBeInstanceOf(PhasegateError);
    expect(blocked).toMatchObject({ name: 'ToolExecutionBlocked', code: 'step-budget' });
    expect(String(blocked)).toBe('ToolExecutionBlocked: Step budget exhausted: 1/1');
    expect(new RunAbortedError('run-aborted', 'r1', 'stop')).toMatchObject({
      name: 'RunAbortedError',
      code: 'run-aborted',
      runId: 'r1',
      reason: 'stop',
      message: 'Run r1 was aborted: stop',
    });
  });

  test('keeps the reason that it wraps as its cause, and has none where there is none', () => {
    const reason = { why: 'enough' };
    expect(new RunAbortedError('run-aborted', 'r1', 'an object', reason).cause).toBe(reason);
    expect('cause' in new RunAbortedError('run-timeout', 'r1', 'timeout after 5 ms')).toBe(false);
  });

  test('carries on a refusal all that §8.2 names, as plain properties', () => {
    const { tool, callId, runId, stage, code, result, phase, stepCount } = blocked;
    expect({ tool, callId, runId, stage, code, result, phase, stepCount }).toEqual({
      tool: 'search',
      callId: 'c1',
      runId: 'r1',
      stage: 'dfa',
      code: 'step-budget',
      result: null,
      phase: 'OBSERVING',
      stepCount: 1,
    });
    expect(JSON.parse(JSON.stringify(blocked))).toMatchObject({ tool: 'search', code: 'step-budget' });
  });
});

describe('isToolExecutionBlocked and findToolExecutionBlocked', () => {
  const circle: { cause?: unknown; error?: unknown } = { error: blocked };
  circle.cause = circle;
  const wrapped: [string, unknown][] = [
    ['itself', blocked],
    ['an error whose cause it is', new Error('the agent failed', { cause: blocked })],
    ['a cause of a cause of a cause', nest(3, (cause) => new Error('outer', { cause }))],
    ['an object that has it as its error', { type: 'tool_error', error: blocked }],
    ['an AggregateError', new AggregateError([new Error('other'), blocked])],
    ['an AggregateError in an AggregateError', new AggregateError([new AggregateError([blocked])])],
    ['an AggregateError as a cause', new Error('outer', { cause: new AggregateError([blocked]) })],
    ['a SuppressedError', { name: 'SuppressedError', error: new Error('other'), suppressed: blocked }],
    ['a chain of ten', nest(10, (error) => ({ error }))],
    ['a circle', circle],
    [
      'an error beside which a getter throws',
      Object.defineProperty({ cause: { error: blocked } }, 'stack', { get: boom }),
    ],
    ['an object without a prototype', Object.assign(Object.create(null), { cause: blocked })],
    ['a frozen wrapper', Object.freeze({ cause: blocked })],
  ];
  test.each(wrapped)('find it in %s', (_, error) => {
    expect(isToolExecutionBlocked(error)).toBe(true);
    expect(findToolExecutionBlocked(error)).toBe(blocked);
  });

  const others: [string, unknown][] = [
    ['undefined', undefined],
    ['null', null],
    ['a text', 'ToolExecutionBlocked'],
    ['a number', 5],
    ['a function', () => blocked],
    ['an error of another kind', new Error('Step budget exhausted: 1/1')],
    [
      'an error that bears its name and code',
      Object.assign(new Error('x'), { ...blocked, name: blocked.name }),
    ],
    ['another error of the package', new PhasegateError('step-budget', 'x')],
    ['a list', [blocked]],
    ['an empty AggregateError', new AggregateError([])],
    ['errors that are no list', { errors: { 0: blocked, length: 1 } }],
    ['a circle', Object.assign(new Error('x'), { cause: undefined, error: undefined })],
    ['a proxy that throws at every touch', new Proxy({}, { get: boom, has: boom, getPrototypeOf: boom })],
    ['a revoked proxy', revoked()],
    ['an object whose cause throws', Object.defineProperty({}, 'cause', { get: boom })],
    ['an AggregateError of hostile proxies', new AggregateError([revoked(), new Proxy({}, { get: boom })])],
  ];
  test.each(others)('find none in %s', (_, error) => {
    expect(isToolExecutionBlocked(error)).toBe(false);
    expect(findToolExecutionBlocked(error)).toBeUndefined();
  });

  test('find it behind a hostile neighbour', () => {
    const error = new AggregateError([new Proxy({}, { get: boom }), revoked(), { cause: blocked }]);
    expect(findToolExecutionBlocked(error)).toBe(blocked);
  });

  test('find it among more errors than can be handed to a function at once', () => {
    const errors = Array.from({ length: 300_000 }, () => undefined as unknown);
    errors[299_999] = blocked;
    expect(findToolExecutionBlocked({ errors })).toBe(blocked);
  });

  // As a deep mock is: every property of it is another one, without end.
  test('give up on what has no end', () => {
    let made = 0;
    const endless = (): object =>
      new Proxy({}, { get: () => (++made < 100_000 ? endless() : undefined), getPrototypeOf: () => null });
    expect(isToolExecutionBlocked(endless())).toBe(false);
    expect(made).toBeLessThan(10_000);
  });

  test('find a refusal as a framework wraps it', async () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 0 }) });
    const failure = await enforcement
      .withRun((run) =>
        run
          .callTool('search', {}, () => 1)
          .catch((cause) => {
            throw new Error('the graph failed', { cause: { error: cause } });
          }),
      )
      .catch((error: unknown) => error);
    expect(findToolExecutionBlocked(failure)?.code).toBe('step-budget');
  });
});

describe('Two copies of the package in one program', () => {
  afterAll(() => {
    vi.resetModules();
  });

  test('know each other’s refusals, though their classes differ', async () => {
    vi.resetModules();
    const copy: typeof import('../../src/index.ts') = await import('../../src/index.ts');
    expect(copy.ToolExecutionBlocked).not.toBe(ToolExecutionBlocked);
    const run = copy.createEnforcement({ supervisor: copy.createSupervisor({ maxSteps: 0 }) }).beginRun();
    const refusal = await run.callTool('search', {}, () => 1).catch((error: unknown) => error);
    expect(refusal).not.toBeInstanceOf(ToolExecutionBlocked);
    expect(isToolExecutionBlocked(refusal)).toBe(true);
    expect(findToolExecutionBlocked({ cause: refusal })).toMatchObject({
      code: 'step-budget',
      tool: 'search',
    });
    expect(copy.isToolExecutionBlocked(new AggregateError([blocked]))).toBe(true);
  });

  test('do not take each other’s calls for their own', async () => {
    vi.resetModules();
    const copy: typeof import('../../src/index.ts') = await import('../../src/index.ts');
    const theirs = await copy.createEnforcement().beginRun().beforeCall('search');
    const run = createEnforcement().beginRun();
    expect(() => run.afterCall(theirs as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});

describe('A value in an error message', () => {
  const values: [unknown, string][] = [
    ['text', '"text"'],
    ['', '""'],
    ['a "quoted"\nline', '"a \\"quoted\\"\\nline"'],
    ['x'.repeat(200), `"${'x'.repeat(80)}…"`],
    [5, '5'],
    [-0, '0'],
    [Number.NaN, 'NaN'],
    [5n, '5n'],
    [true, 'true'],
    [undefined, 'undefined'],
    [null, 'null'],
    [Symbol('s'), 'a symbol'],
    [() => 1, 'a function'],
    [[1, 2], 'an array'],
    [{ a: 1 }, 'an object'],
    [Object.create(null), 'an object'],
    [{ toString: boom, toJSON: boom, [Symbol.toPrimitive]: boom }, 'an object'],
    [new Proxy({}, { get: boom }), 'an object'],
    [revoked(), 'an object'],
  ];
  test.each(values.map(([value, text]) => [text, value] as const))('is named %s', (text, value) => {
    expect(describeValue(value)).toBe(text);
  });
});

describe('What each refusal of a run is', () => {
  test('a new error each time, with a stack', async () => {
    const run = createEnforcement({ supervisor: createSupervisor({ maxSteps: 0 }) }).beginRun();
    const first = await refusalOf(run.callTool('search', {}, () => 1));
    const second = await refusalOf(run.callTool('search', {}, () => 1));
    expect(first).not.toBe(second);
    expect(first.stack).toContain('Step budget exhausted');
  });
});

function nest(times: number, wrap: (inner: unknown) => unknown): unknown {
  let error: unknown = blocked;
  for (let i = 0; i < times; i++) error = wrap(error);
  return error;
}

function boom(): never {
  throw new Error('boom');
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

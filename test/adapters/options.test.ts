import { describe, expect, it } from 'vitest';
import { supervise } from '../../src/ai-sdk/index.ts';
import { createEnforcement, createMonitor, createSupervisor } from '../../src/index.ts';

describe('supervise', () => {
  it('takes an enforcement', () => {
    const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps: 7 }) });
    expect(supervise(enforcement).enforcement).toBe(enforcement);
  });

  it('takes a supervisor', () => {
    const supervisor = createSupervisor({ maxSteps: 7 });
    expect(supervise(supervisor).enforcement.supervisor).toBe(supervisor);
  });

  it('takes a configuration', () => {
    const { enforcement } = supervise({ agentProfile: { resourceBudget: { maxSteps: 7 } } });
    expect(enforcement.supervisor.rules.maxSteps).toBe(7);
  });

  it.each([
    [{ maxSteps: 7 }],
    [null],
    ['phasegate.yaml'],
    [createMonitor()],
    [{ supervisor: createSupervisor() }],
  ])('takes nothing else, such as %j', (given) => {
    expect(() => supervise(given as never)).toThrow(expect.objectContaining({ code: 'invalid-config' }));
  });

  it.each([
    [null, 'The options'],
    [{ maxblocked: 1 }, 'There is no option "maxblocked" of supervise; there are: onBlocked, maxBlocked,'],
    [{ onBlocked: 'throw' }, "onBlocked must be 'message' or 'abort', got \"throw\""],
    [{ maxBlocked: -1 }, 'maxBlocked'],
    [{ maxBlocked: 1.5 }, 'maxBlocked'],
    [{ unreadMs: 0 }, 'unreadMs'],
    [{ timeoutMs: 2 ** 31 }, 'timeoutMs'],
    [{ budget: 'none' }, 'budget'],
    [{ maxDepth: -1 }, 'maxDepth'],
  ])('refuses %j', (options, text) => {
    const faulty = () => supervise(createEnforcement(), options as never);
    expect(faulty).toThrow(text);
    expect(faulty).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
  });
});

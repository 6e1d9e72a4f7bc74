import { describe, expect, it } from 'vitest';
import { createEnforcement } from '../../src/index.ts';
import { macrotask } from './helpers.ts';

describe('code inside of a run', () => {
  it('finds it, also after an await, and gives what it gives', async () => {
    const enforcement = createEnforcement();
    const search = enforcement.tool('search', () => 'found');
    const run = enforcement.beginRun();
    const found = run.inside(async () => {
      expect(enforcement.currentRun()).toBe(run);
      await macrotask();
      return search();
    });
    expect(enforcement.currentRun()).toBe(null);
    expect(await found).toBe('found');
    expect(run.state.stepCount).toBe(1);
  });

  it('throws what it throws, and does not end the run', () => {
    const run = createEnforcement().beginRun();
    const fault = new Error('no');
    expect(() =>
      run.inside(() => {
        throw fault;
      }),
    ).toThrow(fault);
    expect(run.state.finished).toBe(false);
  });
});

import { describe, expect, test } from 'vitest';
import { toMermaid } from '../../src/diagram/index.ts';
import { createSupervisor, DEFAULT_TRANSITIONS } from '../../src/index.ts';

describe('toMermaid', () => {
  test('draws the default table line by line as the rules do', () => {
    expect(toMermaid(createSupervisor())).toBe(
      [
        'stateDiagram-v2',
        '    [*] --> IDLE',
        '    IDLE --> PLANNING',
        '    PLANNING --> ACTING',
        '    PLANNING --> ANSWERING',
        '    ACTING --> OBSERVING',
        '    OBSERVING --> PLANNING',
        '    OBSERVING --> ANSWERING',
        '    ANSWERING --> [*]',
        '    REJECTED --> [*]',
        '    EXHAUSTED --> [*]',
        '',
      ].join('\n'),
    );
  });

  test('draws phases of the user, self-loops, and a phase that nothing leads to', () => {
    const supervisor = createSupervisor({
      phases: ['REVIEWING', 'LONELY'],
      transitions: [...DEFAULT_TRANSITIONS, ['OBSERVING', 'REVIEWING'], ['REVIEWING', 'REVIEWING']],
    });

    const lines = linesOf(toMermaid(supervisor));

    expect(lines).toContain('OBSERVING --> REVIEWING');
    expect(lines).toContain('REVIEWING --> REVIEWING');
    expect(lines).toContain('LONELY');
  });

  test('follows the table of the moment', () => {
    const supervisor = createSupervisor();
    supervisor.removeTransition('OBSERVING', 'ANSWERING');
    supervisor.addTransition('OBSERVING', 'OBSERVING');

    const lines = linesOf(toMermaid(supervisor));

    expect(lines).not.toContain('OBSERVING --> ANSWERING');
    expect(lines).toContain('OBSERVING --> OBSERVING');
  });

  test('draws the ends that the rules add, from every live phase', () => {
    const lines = linesOf(
      toMermaid(createSupervisor({ onBudgetExhausted: 'terminate', onRejected: 'terminate' })),
    );

    for (const phase of ['IDLE', 'PLANNING', 'ACTING', 'OBSERVING']) {
      expect(lines).toContain(`${phase} --> EXHAUSTED: a budget is used up`);
      expect(lines).toContain(`${phase} --> REJECTED: a check refuses`);
    }
  });

  test('draws where the end of a call leads even if the table has no such transition', () => {
    const supervisor = createSupervisor({ onToolError: 'observe' });
    supervisor.removeTransition('ACTING', 'OBSERVING');

    expect(linesOf(toMermaid(supervisor))).toContain('ACTING --> OBSERVING: call ends');
  });

  test('gives a phase another name where its own is an instruction to Mermaid', () => {
    const supervisor = createSupervisor({
      phases: ['NOTE', 'NOTEBOOK'],
      transitions: [...DEFAULT_TRANSITIONS, ['OBSERVING', 'NOTE'], ['NOTE', 'NOTEBOOK']],
    });

    const lines = linesOf(toMermaid(supervisor));

    expect(lines).toContain('state "NOTE" as phase_NOTE');
    expect(lines).toContain('OBSERVING --> phase_NOTE');
    expect(lines).toContain('phase_NOTE --> NOTEBOOK');
  });
});

function linesOf(text: string): string[] {
  return text.split('\n').map((line) => line.trim());
}

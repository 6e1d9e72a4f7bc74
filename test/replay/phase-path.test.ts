import { describe, expect, it } from 'vitest';
import { PhasePath } from '../../src/replay/phase-path.ts';

function along(...paths: readonly string[]) {
  const path = new PhasePath();
  for (const phases of paths) path.add(phases.split(' '));
  return path.segments.map(({ phases, times }) => `${phases.join(' ')} ×${times}`);
}

describe('the path of a run', () => {
  it('says once where one piece ends and the next begins', () => {
    expect(along('IDLE PLANNING', 'PLANNING ACTING')).toEqual(['IDLE PLANNING ×1', 'ACTING ×1']);
    expect(along('IDLE', 'IDLE', 'IDLE')).toEqual(['IDLE ×1']);
  });

  it('counts pieces that follow each other', () => {
    expect(along('A B', 'C B', 'C B', 'B B', 'B B', 'C B')).toEqual(['A B ×1', 'C B ×2', 'B ×2', 'C B ×1']);
  });

  it('stays short: the beginning, how many pieces are left out, and the end', () => {
    const path = new PhasePath();
    for (let i = 0; i < 1000; i++) path.add([`P${i}`]);
    expect(path.segments.map(({ phases, times }) => phases[0] ?? times)).toEqual([
      'P0',
      'P1',
      'P2',
      991,
      'P994',
      'P995',
      'P996',
      'P997',
      'P998',
      'P999',
    ]);
  });
});

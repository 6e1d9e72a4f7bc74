import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BriefMap } from '../../src/replay/brief-map.ts';

const moves = fc.array(fc.tuple(fc.constantFrom('add', 'delete', 'clear'), fc.integer({ min: 0, max: 4 })), {
  maxLength: 40,
});

describe('a map of what mostly comes alone', () => {
  it('holds what a Map would hold, in the same order', () => {
    fc.assert(
      fc.property(moves, (all) => {
        const brief = new BriefMap<number, string>();
        const plain = new Map<number, string>();
        all.forEach(([move, key], i) => {
          if (move === 'add' && !plain.has(key)) {
            brief.add(key, `value ${i}`);
            plain.set(key, `value ${i}`);
          } else if (move === 'delete') {
            brief.delete(key);
            plain.delete(key);
          } else if (move === 'clear' && key === 0) {
            brief.clear();
            plain.clear();
          }
          expect([...brief.values()]).toEqual([...plain.values()]);
          expect(brief.size).toBe(plain.size);
          for (let known = 0; known <= 4; known++) expect(brief.get(known)).toBe(plain.get(known));
        });
      }),
    );
  });
});

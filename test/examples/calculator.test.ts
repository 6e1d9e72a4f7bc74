import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { calculate } from '../../examples/calculator.mjs';

describe('the calculator', () => {
  it.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['10 - 4 - 3', 3],
    ['2 ^ 3 ^ 2', 512],
    ['-2 ^ 2', -4],
    ['2 ^ -1', 0.5],
    ['--3', 3],
    ['7 % 4 * 2', 6],
    ['  100*25 /759 ', (100 * 25) / 759],
    ['1.5e3', 1500],
    ['2E+2 / 0.5', 400],
  ])('works out %s', (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  it.each([
    ['', 'Expected a number or "(", got the end'],
    ['1 +', 'Expected a number or "(", got the end'],
    ['(1', 'Expected ")" for each "("'],
    ['1)', 'Expected an operator or the end, got )'],
    ['1 2', 'Expected an operator or the end, got 2'],
    ['process.exit()', 'Expected numbers, + - * / % ^ and parentheses, got "process.exit()"'],
    ['1 + constructor', 'Expected numbers, + - * / % ^ and parentheses, got "constructor"'],
    ['.5', 'Expected numbers, + - * / % ^ and parentheses, got ".5"'],
    ['1 / 0', 'The result is no finite number: Infinity'],
    ['0 / 0', 'The result is no finite number: NaN'],
    [`${'('.repeat(600)}1`, 'The expression is 601 characters long; at most 500 are read'],
  ])('refuses %s', (expression, message) => {
    expect(() => calculate(expression)).toThrow(message);
  });

  it('agrees with JavaScript on random expressions', () => {
    const { expression } = fc.letrec<{ expression: string }>((tie) => ({
      expression: fc.oneof(
        { maxDepth: 4 },
        fc.nat({ max: 99 }).map(String),
        fc
          .tuple(tie('expression'), fc.constantFrom('+', '-', '*', '/', '%'), tie('expression'))
          .map((parts) => `(${parts.join(' ')})`),
        fc
          .tuple(tie('expression'), fc.constantFrom('+', '-', '*'), tie('expression'))
          .map((parts) => parts.join(' ')),
      ),
    }));
    fc.assert(
      fc.property(expression, (text) => {
        const value: unknown = new Function(`return ${text}`)();
        fc.pre(Number.isFinite(value) && text.length <= 500);
        expect(calculate(text)).toBe(value);
      }),
    );
  });

  it('runs nothing, whatever is written', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 600 }), (text) => {
        try {
          expect(Number.isFinite(calculate(text))).toBe(true);
        } catch (error) {
          expect((error as Error).constructor).toBe(Error);
        }
      }),
    );
  });
});

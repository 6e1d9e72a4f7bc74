// @ts-check
/**
 * Works out an arithmetic expression by reading it, never by running it: what a model writes is data.
 *
 *     sum     = product (("+" | "-") product)*
 *     product = unary (("*" | "/" | "%") unary)*
 *     unary   = ("+" | "-") unary | power
 *     power   = atom ("^" unary)?
 *     atom    = number | "(" sum ")"
 */

const MAX_LENGTH = 500;
const TOKEN = /\s*(?:(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([-+*/%^()]))/iy;

/**
 * @param {string} expression Such as `100 * (3 + 4) / 12`.
 * @returns {number} A finite number.
 * @throws {Error} for anything that is no such expression, and for a result that is no finite number.
 */
export function calculate(expression) {
  if (expression.length > MAX_LENGTH) {
    throw new Error(`The expression is ${expression.length} characters long; at most ${MAX_LENGTH} are read`);
  }
  const tokens = tokenize(expression);
  let at = 0;

  const sum = () => {
    let value = product();
    while (tokens[at] === '+' || tokens[at] === '-') {
      value = tokens[at++] === '+' ? value + product() : value - product();
    }
    return value;
  };

  const product = () => {
    let value = unary();
    for (;;) {
      if (tokens[at] === '*') value *= next(unary);
      else if (tokens[at] === '/') value /= next(unary);
      else if (tokens[at] === '%') value %= next(unary);
      else return value;
    }
  };

  /** @returns {number} */
  const unary = () => {
    if (tokens[at] === '-') return -next(unary);
    if (tokens[at] === '+') return next(unary);
    return power();
  };

  const power = () => {
    const base = atom();
    return tokens[at] === '^' ? base ** next(unary) : base;
  };

  const atom = () => {
    const token = tokens[at++];
    if (typeof token === 'number') return token;
    if (token !== '(') throw new Error(`Expected a number or "(", got ${token ?? 'the end'}`);
    const value = sum();
    if (tokens[at++] !== ')') throw new Error('Expected ")" for each "("');
    return value;
  };

  /** @param {() => number} operand */
  const next = (operand) => {
    at += 1;
    return operand();
  };

  const value = sum();
  if (at < tokens.length) throw new Error(`Expected an operator or the end, got ${tokens[at]}`);
  if (!Number.isFinite(value)) throw new Error(`The result is no finite number: ${value}`);
  return value;
}

/**
 * @param {string} text
 * @returns {(number | string)[]}
 */
function tokenize(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim() !== '') {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (match === null) {
      const rest = text.slice(from).trim();
      throw new Error(
        `Expected numbers, + - * / % ^ and parentheses, got ${JSON.stringify(rest.slice(0, 20))}`,
      );
    }
    tokens.push(match[1] === undefined ? /** @type {string} */ (match[2]) : Number(match[1]));
  }
  return tokens;
}

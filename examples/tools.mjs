// @ts-check
/**
 * The tools of the example agent. Nothing in them knows of phasegate, but for one: `measure_files` calls another tool, and
 * does so through the context that it is handed, so that the inner calls are counted too.
 */
import { findToolExecutionBlocked } from 'phasegate';
import { calculate } from './calculator.mjs';

/**
 * @typedef {object} Tool
 * @property {string} name
 * @property {string} description What the model is told.
 * @property {object} parameters The arguments, as a JSON Schema.
 * @property {(args: Args, ctx: import('phasegate').Call) => unknown} run
 */

/** @typedef {Readonly<Record<string, unknown>>} Args A model's words: nothing about them is certain. */

/**
 * @param {import('./repository.mjs').Repository} repository
 * @returns {Tool[]}
 */
export function createTools(repository) {
  /** @param {Args} args */
  async function searchFiles(args) {
    const text = textOf(args, 'text').toLowerCase();
    const paths = await repository.list('path' in args ? textOf(args, 'path') : '.');
    const files = [];
    for (const path of paths) {
      // A file that is no text, or too large, is no reason to find nothing.
      const content = await repository.read(path).catch(() => '');
      const lines = content
        .split('\n')
        .flatMap((line, i) => (line.toLowerCase().includes(text) ? [i + 1] : []));
      if (lines.length > 0) files.push({ path, matches: lines.length, lines: lines.slice(0, 5) });
    }
    files.sort((a, b) => b.matches - a.matches);
    return { found: files.length, files: files.slice(0, 10) };
  }

  /** @param {Args} args */
  async function readFile(args) {
    const path = textOf(args, 'path');
    const from = 'from' in args ? wholeOf(args, 'from') : 1;
    const lines = (await repository.read(path)).trimEnd().split('\n');
    const shown = lines.slice(from - 1, from + 199);
    return { path, lines: lines.length, from, text: shown.join('\n') };
  }

  /**
   * @param {Args} args
   * @param {import('phasegate').Call} ctx
   */
  async function measureFiles(args, ctx) {
    const files = [];
    for (const path of textsOf(args, 'paths')) {
      try {
        // A nested call: a step like any other, and one of the loops that ACTING may have.
        const { lines } = await ctx.callTool('read_file', { path }, () => readFile({ path }));
        files.push({ path, lines });
      } catch (error) {
        const blocked = findToolExecutionBlocked(error);
        if (blocked === undefined) throw error;
        // Refused: the tool gives what it has, and says what is missing.
        return { files, notMeasured: `${path}: ${blocked.message}` };
      }
    }
    return { files };
  }

  return [
    {
      name: 'search_files',
      description: 'Finds the files that contain a text, upper or lower case, most matches first.',
      parameters: parameters(
        {
          text: { type: 'string', description: 'What to look for.' },
          path: {
            type: 'string',
            description: 'The folder to look in, such as src; without it, everywhere.',
          },
        },
        ['text'],
      ),
      run: searchFiles,
    },
    {
      name: 'read_file',
      description: 'Reads 200 lines of a file.',
      parameters: parameters(
        {
          path: { type: 'string', description: 'The file, such as src/run.ts.' },
          from: { type: 'integer', minimum: 1, description: 'The first line; without it, 1.' },
        },
        ['path'],
      ),
      run: readFile,
    },
    {
      name: 'measure_files',
      description: 'Counts the lines of several files.',
      parameters: parameters({ paths: { type: 'array', items: { type: 'string' } } }, ['paths']),
      run: measureFiles,
    },
    {
      name: 'calculate',
      description: 'Works out an expression of numbers, + - * / % ^ and parentheses.',
      parameters: parameters({ expression: { type: 'string' } }, ['expression']),
      run: (args) => ({ value: calculate(textOf(args, 'expression')) }),
    },
  ];
}

/**
 * @param {object} properties
 * @param {string[]} required
 */
function parameters(properties, required) {
  return { type: 'object', properties, required, additionalProperties: false };
}

/**
 * @param {Args} args
 * @param {string} key
 */
function textOf(args, key) {
  const value = args[key];
  if (typeof value === 'string' && value !== '') return value;
  throw new Error(`${key} must be a text that is not empty, got ${JSON.stringify(value)}`);
}

/**
 * @param {Args} args
 * @param {string} key
 */
function textsOf(args, key) {
  const value = args[key];
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value;
  throw new Error(`${key} must be a list of texts, got ${JSON.stringify(value)}`);
}

/**
 * @param {Args} args
 * @param {string} key
 */
function wholeOf(args, key) {
  const value = args[key];
  if (Number.isSafeInteger(value) && /** @type {number} */ (value) >= 1) return /** @type {number} */ (value);
  throw new Error(`${key} must be a whole number of 1 or more, got ${JSON.stringify(value)}`);
}

// @ts-check
/**
 * What the scripted model does, as three scripts. The first is what `npm start` runs; the other two are what
 * `recordings/` were made with (`node examples/record.mjs`). None knows what the tools will find.
 *
 * @typedef {import('./models/scripted.mjs').ScriptedCall} ScriptedCall
 * @typedef {{ name: string, question: string, script: import('./models/scripted.mjs').Script }} Scenario
 */

/** One call more than the step budget has room for. @type {Scenario} */
export const beyondTheBudget = {
  name: 'beyond-the-budget',
  question: 'Which file in src speaks most of budgets, on how many of its lines, and how does it begin?',
  *script() {
    const [search] = yield [call('search_files', { text: 'budget', path: 'src' })];
    const [most, next] = json(search).files;
    // The tool reads the files with another tool: two nested calls and itself, three steps.
    const [measured] = yield [call('measure_files', { paths: [most.path, next.path] })];
    const [size, nextSize] = json(measured).files;
    // Three at once, and the budget has two left.
    const [share, nextShare, beginning] = yield [
      call('calculate', { expression: `100 * ${most.matches} / ${size.lines}` }),
      call('calculate', { expression: `100 * ${next.matches} / ${nextSize.lines}` }),
      call('read_file', { path: most.path }),
    ];
    return [
      `${most.path} speaks of budgets on ${most.matches} of its ${size.lines} lines (${percent(share)}),`,
      `${next.path} on ${next.matches} of ${nextSize.lines} (${percent(nextShare)}).`,
      `How the first one begins I cannot say: ${reasonIn(beginning)}.`,
    ].join('\n');
  },
};

/** A tool that fails again and again: the loop budget ends it. @type {Scenario} */
export const failingTool = {
  name: 'failing-tool',
  question: 'What does the road map plan?',
  *script() {
    let result = '';
    let tries = 0;
    for (const path of ['ROADMAP.md', 'docs/ROADMAP.md', 'docs/roadmap.md', 'docs/plan.md']) {
      [result = ''] = yield [call('read_file', { path })];
      tries += 1;
      if (!result.startsWith('Error')) break;
    }
    return `I found no road map in ${tries} tries. ${result}`;
  },
};

/** A run that stays inside its budgets, two calls at once included. @type {Scenario} */
export const withinTheBudget = {
  name: 'within-the-budget',
  question: 'How long is the change log, and how many files in docs name phasegate?',
  *script() {
    const [measured, search] = yield [
      call('measure_files', { paths: ['CHANGELOG.md'] }),
      call('search_files', { text: 'phasegate', path: 'docs' }),
    ];
    const [log] = json(measured).files;
    return `${log.path} has ${log.lines} lines, and ${json(search).found} files in docs name phasegate.`;
  },
};

/**
 * @param {string} tool
 * @param {object} args
 * @returns {ScriptedCall}
 */
function call(tool, args) {
  return { tool, args };
}

/** @param {string | undefined} result */
function json(result = 'nothing') {
  try {
    return JSON.parse(result);
  } catch {
    throw new Error(`The script cannot go on without a result of its tool, which gave: ${result}`);
  }
}

/** @param {string | undefined} result */
function percent(result) {
  return `${json(result).value.toFixed(1)} %`;
}

/** @param {string | undefined} result */
function reasonIn(result = '') {
  return /^(?:Refused|Error): (.*?)(?:\. |$)/.exec(result)?.[1] ?? 'I was given no reason';
}

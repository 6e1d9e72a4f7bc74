// @ts-check
/** Shows a run in a terminal, from nothing but the events that the enforcement tells its listeners. */
import { styleText } from 'node:util';

const WIDTH = Math.min(process.stdout.columns || 100, 120);
const PHASE_WIDTH = 19;

// `hasColors` heeds NO_COLOR.
const colours = process.stdout.isTTY === true && process.stdout.hasColors();

/**
 * @param {Parameters<typeof styleText>[0]} style
 * @param {string} text
 */
export function paint(style, text) {
  return colours && text !== '' ? styleText(style, text) : text;
}

/**
 * @param {{ maxSteps: number, maxLoopsPerPhase: number }} budgets
 * @returns {import('phasegate').Listener}
 */
export function createView({ maxSteps, maxLoopsPerPhase }) {
  let steps = 0;
  let loops = 0;
  let now = 'IDLE';
  // The phases entered since the last line.
  /** @type {string[]} */
  let path = [];
  /** @type {Map<string, { depth: number, since: number }>} */
  const open = new Map();

  const left = () => {
    const spent = Math.min(steps, maxSteps);
    const bar =
      Number.isFinite(maxSteps) && maxSteps <= 20
        ? `${'▰'.repeat(spent)}${'▱'.repeat(maxSteps - spent)} `
        : '';
    return `${bar}${maxSteps - steps} of ${maxSteps} left`;
  };

  return (event) => {
    switch (event.type) {
      case 'run.started':
        show('IDLE', `run ${event.run} begins`, left());
        break;
      case 'phase.entered':
        loops = event.from === event.phase ? loops + 1 : 0;
        path.push(event.phase);
        now = event.phase;
        break;
      case 'call.waiting':
        show('', paint('dim', `  ${event.tool} waits its turn`));
        break;
      case 'call.started': {
        const depth = (open.get(event.parent ?? '')?.depth ?? -1) + 1;
        open.set(event.call, { depth, since: event.time });
        const phase = loops > 0 ? `${now}, loop ${loops}/${maxLoopsPerPhase}` : path.join(' → ') || now;
        path = [];
        show(phase, `${'  '.repeat(depth)}▸ ${paint('bold', event.tool)} ${shorten(event.args)}`);
        break;
      }
      case 'call.ended': {
        const { depth = 0, since = event.time } = open.get(event.call) ?? {};
        open.delete(event.call);
        if (event.ok && !event.late) steps += 1;
        path = [];
        const mark = event.ok ? paint('green', '✓') : paint('red', '✗');
        const failure = event.ok ? '' : paint('red', ' failed, which is no step');
        show(now, `${'  '.repeat(depth)}${mark} ${event.tool}, ${event.time - since} ms${failure}`, left());
        break;
      }
      case 'call.refused': {
        const depth = (open.get(event.parent ?? '')?.depth ?? -1) + 1;
        const refused = `${'  '.repeat(depth)}${paint(['red', 'bold'], `✗ ${event.tool} refused`)} ${shorten(event.args)}`;
        show(now, refused, left());
        show('', `${'  '.repeat(depth)}  ${event.code}: ${paint('red', event.message)}`);
        break;
      }
      case 'run.ended':
        show(event.phase, event.reason === null ? 'the run ends' : `the run ends: ${event.reason}`, left());
        path = [];
        break;
    }
  };
}

/**
 * Three columns: the phase, what happens, and what is left of the step budget.
 *
 * @param {string} phase
 * @param {string} text
 * @param {string} [right]
 */
function show(phase, text, right = '') {
  const gap = WIDTH - 2 - PHASE_WIDTH - lengthOf(text) - right.length;
  const padding = right === '' ? '' : ' '.repeat(Math.max(2, gap));
  print(`  ${paint('cyan', phase.padEnd(PHASE_WIDTH))}${text}${padding}${paint('yellow', right)}`);
}

// As in `npm start | head`: no one reads on.
process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

/** @param {string} [line] */
export function print(line = '') {
  process.stdout.write(`${line}\n`);
}

/**
 * A longer text under the middle column, broken between words.
 *
 * @param {string} text
 */
export function tell(text) {
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > WIDTH - PHASE_WIDTH - 4) {
      show('', `  ${paint('dim', line)}`);
      line = '';
    }
    line += line === '' ? word : ` ${word}`;
  }
  show('', `  ${paint('dim', line)}`);
}

/** @param {unknown} args */
function shorten(args) {
  const text = JSON.stringify(args) ?? '';
  const room = WIDTH - PHASE_WIDTH - 40;
  return paint('dim', text.length > room ? `${text.slice(0, room - 1)}…` : text);
}

/** How wide a text is on the terminal: its colours take no room. @param {string} text */
function lengthOf(text) {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is how colours are written.
  return text.replace(/\x1b\[\d+m/g, '').length;
}

// @ts-check
// Prints, as JSON, what a served call costs where so many wait in one run, and whether they were served as they came.
// Arguments: how many wait, and how many calls are to be served in all at least.
import { median } from '../median.mjs';
import { ARGS, unlimited } from './support.mjs';

const [waiting = 0, least = 0] = process.argv.slice(2).map(Number);
const enforcement = unlimited();

const warmUp = Math.ceil(5000 / waiting);
for (let i = 0; i < warmUp; i++) await served();
const rounds = Math.max(5, Math.ceil(least / (2 * waiting)));
const times = [];
for (let i = 0; i < rounds; i++) times.push(await served());
console.log(JSON.stringify({ waiting, servedNs: median(times), served: 2 * waiting * rounds }));

/**
 * So many siblings ask at once, and while each is served one more comes, as often as there were siblings at first: the
 * length of the line stays what it is, and then it empties.
 *
 * @returns {Promise<number>} Nanoseconds for each call.
 */
async function served() {
  const run = enforcement.beginRun();
  /** @type {number[]} */
  const order = [];
  /** @type {Promise<unknown>[]} */
  const calls = [];
  let asked = 0;
  const ask = () => {
    const number = asked;
    asked += 1;
    // Not from inside the call that is served: that would be a nested one, which does not wait.
    const body = async () => {
      order.push(number);
      if (asked < 2 * waiting) ask();
    };
    calls.push(run.callTool('search', ARGS, body, { parent: null }));
  };
  const start = performance.now();
  for (let i = 0; i < waiting; i++) ask();
  // What comes later is awaited too: the list grows while it is gone through.
  for (const call of calls) await call;
  const ns = ((performance.now() - start) * 1e6) / calls.length;
  if (order.length !== 2 * waiting) throw new Error(`${order.length} of ${2 * waiting} calls were served`);
  if (order.some((number, index) => number !== index)) throw new Error('served in another order than asked');
  run.finish();
  return ns;
}

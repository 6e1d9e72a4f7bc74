// @ts-check
import { Bench } from 'tinybench';

/**
 * What is timed, and how often one run of it does what is measured.
 *
 * @typedef {{ id: string, name: string, per: number, run: () => void | Promise<void> }} Task
 */

/** How long each task is run at least, in milliseconds, and how often. @typedef {Record<'time' | 'iterations' | 'warmupTime' | 'warmupIterations', number>} Spans */

const CALLS = 1000;
/** What every call of a tool is called with. */
export const ARGS = { q: 'xstate' };

/** The tool reads the length of a text, so that nearly all that is measured is what stands around it. @param {{ q: string }} args */
export const tool = (args) => args.q.length;

// What the tools answer is used, or the compiler would drop the calls.

/** Many calls in a row. @param {string} id @param {string} name @param {() => number} call @returns {Task} */
export function calls(id, name, call) {
  const run = () => {
    let sum = 0;
    for (let i = 0; i < CALLS; i++) sum += call();
    check(sum);
  };
  return { id, name, per: CALLS, run };
}

/** Many calls, one after the other. @param {string} id @param {string} name @param {() => Promise<number>} call @returns {Task} */
export function awaitedCalls(id, name, call) {
  const run = async () => {
    let sum = 0;
    for (let i = 0; i < CALLS; i++) sum += await call();
    check(sum);
  };
  return { id, name, per: CALLS, run };
}

/**
 * The median time of each task, one after the other.
 *
 * @param {readonly Task[]} tasks @param {Spans} spans @param {(name: string) => void} begun Is told of each as it begins.
 * @returns {Promise<import('../report/row.mjs').TimedRow[]>}
 */
export async function timed(tasks, spans, begun) {
  const bench = new Bench(spans);
  for (const { name, run } of tasks) bench.add(name, run, { beforeAll: () => begun(name) });
  await bench.run();
  return tasks.map(({ id, name, per }) => {
    const result = bench.getTask(name)?.result;
    if (result?.state !== 'completed') throw new Error(`${name}: ${JSON.stringify(result)}`);
    return { id, name, ns: (result.latency.p50 * 1e6) / per };
  });
}

/** @param {number} sum */
function check(sum) {
  if (sum !== CALLS * ARGS.q.length) throw new Error(`The tools answered ${sum}`);
}

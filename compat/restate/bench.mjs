// @ts-check
/**
 * How long a call takes whose run is kept by Restate, and how many there are in a second; to be built and installed first:
 *
 *   npm run bench:restate
 */
import { cpus } from 'node:os';
import { findToolExecutionBlocked } from 'phasegate';
import { remoteEnforcement } from 'phasegate/restate';
import { startCluster } from './processes.mjs';

const CALLS_PER_RUN = 20;

const cluster = await startCluster([{}], Number(process.argv[3] ?? 1));
try {
  console.log(`${cpus()[0]?.model}, ${cpus().length} cores, Node ${process.version}`);
  for (const runs of [1, 8, 32]) await measure(runs, Number(process.argv[2] ?? 2000));
} finally {
  await cluster.stop();
}

/** @param {number} runs How many are live at once. @param {number} total */
async function measure(runs, total) {
  const enforcement = remoteEnforcement({ ingress: cluster.ingress, timeoutMs: 30_000 });
  /** @type {number[]} */
  const latencies = [];
  let left = total;
  const start = performance.now();
  const agent = async () => {
    while (left > 0) {
      await enforcement.withRun(async (run) => {
        for (let i = 0; i < CALLS_PER_RUN && left > 0; i++) {
          left -= 1;
          const asked = performance.now();
          await run.callTool('search', { q: 'xstate' }, () => 'a page').catch(rethrowOthers);
          latencies.push(performance.now() - asked);
        }
      });
    }
  };
  await Promise.all(Array.from({ length: runs }, agent));
  const seconds = (performance.now() - start) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) =>
    latencies[Math.floor((latencies.length - 1) * share)]?.toFixed(1);
  console.log(
    `${runs} runs at once: ${(total / seconds).toFixed(0)} calls/s; a call takes ${at(0.5)} ms (p50), ${at(0.99)} ms (p99)`,
  );
}

/** @param {unknown} error */
function rethrowOthers(error) {
  if (findToolExecutionBlocked(error) === undefined) throw error;
}

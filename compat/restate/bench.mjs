// @ts-check
/**
 * What it costs to have runs kept by Restate, all of it on this machine: `npm run bench:restate`
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { install, withPackage } from '../install.mjs';
import { startCluster } from './processes.mjs';

const CALLS_PER_RUN = 20;
const WARM_UP = 400;

if (!(await withPackage((tarball) => install(import.meta.dirname, tarball)))) process.exit(1);
const { remoteEnforcement } = await import('phasegate/restate');

const cluster = await startCluster([{}]);
try {
  const load = loadavg()[0]?.toFixed(1);
  console.log(
    `${cpus()[0]?.model}, ${cpus().length} cores (load ${load}), Node ${process.version}, ${process.platform}`,
  );
  await measure(8, WARM_UP);
  for (const runs of [1, 8, 32]) console.log(await measure(runs, runs === 1 ? 600 : 2000));
} finally {
  await cluster.stop();
}

/**
 * @param {number} atOnce How many runs are live at once, each with an agent that calls a tool that does nothing.
 * @param {number} total How many calls there are together.
 */
async function measure(atOnce, total) {
  const enforcement = remoteEnforcement({ ingress: cluster.ingress, timeoutMs: 30_000 });
  /** @type {number[]} */
  const latencies = [];
  let [left, runs] = [total, 0];
  const agent = async () => {
    while (left > 0) {
      runs += 1;
      await enforcement.withRun(async (run) => {
        for (let i = 0; i < CALLS_PER_RUN && left > 0; i++) {
          left -= 1;
          const asked = performance.now();
          await run.callTool('search', { q: 'xstate' }, () => 'a page');
          latencies.push(performance.now() - asked);
        }
      });
    }
  };
  const [start, before] = [performance.now(), spent()];
  await Promise.all(Array.from({ length: atOnce }, agent));
  const [seconds, after] = [(performance.now() - start) / 1000, spent()];
  latencies.sort((a, b) => a - b);
  const at = (/** @type {number} */ share) => `${latencies[Math.floor((total - 1) * share)]?.toFixed(1)} ms`;
  const each = (/** @type {'server' | 'service'} */ who) =>
    `${(((after[who] - before[who]) / total) * 1000).toFixed(1)} ms`;
  const disk = `${((after.disk - before.disk) / runs / 1024).toFixed(0)} kB`;
  return (
    `${String(atOnce).padStart(2)} runs at once: ${(total / seconds).toFixed(0)} calls/s, p50 ${at(0.5)}, p99 ${at(0.99)}; ` +
    `processor time of a call: server ${each('server')}, service ${each('service')}; disk of a run: ${disk}`
  );
}

/** The processor time of both in seconds, and the disk in bytes; on Linux, where that can be read. */
function spent() {
  const seconds = (/** @type {number | undefined} */ pid) => {
    if (process.platform !== 'linux') return Number.NaN;
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    // In ticks, of which Linux tells a hundred in a second.
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  const disk = execFileSync('du', ['-sb', join(cluster.folder, 'data')], { encoding: 'utf8' });
  return {
    server: seconds(cluster.server.child.pid),
    service: seconds(cluster.services[0]?.child.pid),
    disk: Number.parseInt(disk, 10),
  };
}

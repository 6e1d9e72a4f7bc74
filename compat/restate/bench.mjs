// @ts-check
import { readFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { install, withPackage } from '../install.mjs';
import { readNames } from '../names.mjs';
import { startCluster } from './processes.mjs';

const CALLS_PER_RUN = 20;
const WARM_UP = 400;

readNames(`Usage: npm run bench:restate

Measures what it costs to have runs kept by Restate, whose server it starts on this machine. Takes about a minute, and
installs the SDK and the server into compat/restate when they are not there.

  -h, --help    print this`);

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
  console.log(await oneTree(600));
  console.log(`a run of ${CALLS_PER_RUN} calls that has ended: ${await bytesOfARun()} bytes are kept of it`);
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
  let left = total;
  const agent = async () => {
    while (left > 0) {
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
  return (
    `${String(atOnce).padStart(2)} runs at once: ${(total / seconds).toFixed(0)} calls/s, p50 ${at(0.5)}, p99 ${at(0.99)}; ` +
    `processor time of a call: server ${each('server')}, service ${each('service')}`
  );
}

/** The processor time of both in seconds; on Linux, where that can be read. */
function spent() {
  const seconds = (/** @type {number | undefined} */ pid) => {
    if (process.platform !== 'linux') return Number.NaN;
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    // In ticks, of which Linux tells a hundred in a second.
    return (Number(fields[11]) + Number(fields[12])) / 100;
  };
  return {
    server: seconds(cluster.server.child.pid),
    service: seconds(cluster.services[0]?.child.pid),
  };
}

/** Calls from many machines at once in one tree, of which an object decides one after another. @param {number} total */
async function oneTree(total) {
  const enforcement = remoteEnforcement({ ingress: cluster.ingress, timeoutMs: 30_000 });
  const root = await enforcement.beginRun();
  const call = await root.beforeCall('delegate');
  const children = await Promise.all(
    Array.from({ length: 16 }, () => enforcement.beginRun({ parent: call, budget: 'own' })),
  );
  let left = total;
  const start = performance.now();
  const agent = async (/** @type {import('phasegate/restate').RemoteRun} */ child) => {
    for (; left > 0; left -= 1) await child.callTool('search', {}, () => 'a page').catch(() => {});
  };
  await Promise.all(children.map(agent));
  const perSecond = total / ((performance.now() - start) / 1000);
  return `16 child runs of one run: ${perSecond.toFixed(0)} calls/s`;
}

/** @returns {Promise<number>} */
async function bytesOfARun() {
  const enforcement = remoteEnforcement({ ingress: cluster.ingress });
  const id = 'weighed';
  const page = () => 'a page';
  const work = async (/** @type {import('phasegate/restate').RemoteRun} */ run) => {
    for (let i = 0; i < CALLS_PER_RUN; i++) await run.callTool('search', { q: 'xstate' }, page);
  };
  await enforcement.withRun(work, { id });
  const response = await fetch(`${cluster.server.admin}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ query: `SELECT value_utf8 FROM state WHERE service_key = '${id}'` }),
  });
  const { rows } = await response.json();
  return rows[0].value_utf8.length;
}

// @ts-check
/**
 * A machine with agents: node agents.mjs <file with its orders>. Each body writes a line before it returns, so that what has run
 * is known whatever dies; at the end the outcome of each call is written.
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findToolExecutionBlocked } from 'phasegate';
import { remoteEnforcement } from 'phasegate/restate';

/**
 * @typedef {{
 *   readonly ingress: string;
 *   readonly object?: string;
 *   readonly timeoutMs: number;
 *   readonly runs: readonly string[];
 *   readonly callsPerRun: number;
 *   readonly bodyMs: number;
 *   readonly bodies: string;
 *   readonly outcomes: string;
 * }} Orders
 */

/** @type {Orders} */
const orders = JSON.parse(readFileSync(String(process.argv[2]), 'utf8'));
const { ingress, object, timeoutMs, runs, callsPerRun, bodyMs, bodies, outcomes } = orders;

/** @type {Record<string, number>} How often what came of a call; a refusal by its code. */
const counts = { ran: 0, undelivered: 0 };
const count = (/** @type {string} */ what) => {
  counts[what] = (counts[what] ?? 0) + 1;
};

const enforcement = remoteEnforcement({
  ingress,
  object,
  timeoutMs,
  onUndelivered: () => count('undelivered'),
});

async function work(/** @type {string} */ id) {
  const run = await enforcement.joinRun(id);
  for (let i = 0; i < callsPerRun; i++) {
    try {
      await run.callTool('work', { i }, async () => {
        appendFileSync(bodies, `${id}\n`);
        if (bodyMs > 0) await sleep(bodyMs);
      });
      count('ran');
    } catch (error) {
      const blocked = findToolExecutionBlocked(error);
      if (blocked === undefined) throw error;
      count(blocked.code);
    }
  }
}

await Promise.all(runs.map(work));
writeFileSync(outcomes, JSON.stringify(counts));

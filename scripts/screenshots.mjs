// @ts-check
/**
 * Makes the pictures of the inspector's page in docs/images: agents run, `phasegate inspect` shows them, and a browser
 * takes the picture. Needs chromium; CHROMIUM says where it is.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createEnforcement, createSupervisor } from 'phasegate';
import { inspectTo } from 'phasegate/inspect';
import { chromium } from 'playwright-core';

const root = new URL('..', import.meta.url);
const cli = fileURLToPath(new URL('dist/cli/index.js', root));
const EXECUTABLE = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const SIZE = { width: 1440, height: 930 };

if (!existsSync(EXECUTABLE)) {
  console.error(`There is no chromium at ${EXECUTABLE}. Install it, or set CHROMIUM to where it is`);
  process.exit(2);
}
const server = spawn(process.execPath, [cli, 'inspect', '--port', '0', '--json'], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
// Also where something fails on the way.
process.once('exit', () => server.kill());
const [line] = await once(createInterface(server.stdout), 'line');
const { url } = JSON.parse(line);

const observer = inspectTo(url, { name: 'agents.mjs' });
const feed = new AbortController();
const others = startOthers(feed.signal);
await wait(400);
await answerTheQuestion();
await observer.flush();

const browser = await chromium.launch({
  executablePath: EXECUTABLE,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});
for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  const page = await browser.newPage({ viewport: SIZE, colorScheme, reducedMotion: 'reduce' });
  await page.goto(url);
  await page.getByLabel('Statechart').getByRole('img').waitFor();
  await page.getByRole('heading', { name: 'answer-the-question' }).waitFor();
  await page.screenshot({ path: fileURLToPath(new URL(`docs/images/inspect-${colorScheme}.png`, root)) });
}
await browser.close();
feed.abort();
await others;
await observer.close();
server.kill();

/** A run with a bit of everything: calls that wait, nested ones, failing ones, a child run, and two calls too many. */
async function answerTheQuestion() {
  const enforcement = createEnforcement({
    supervisor: createSupervisor({ maxSteps: 9, maxLoopsPerPhase: 2 }),
  });
  enforcement.on(observer);
  /** @param {string} name @param {number} ms @param {() => unknown} [body] */
  const tool = (name, ms, body) =>
    enforcement.tool(name, async () => {
      await wait(ms / 2);
      await body?.();
      await wait(ms / 2);
    });
  const search = tool('search', 420);
  const readFile = tool('read_file', 160);
  const summarize = tool('summarize', 210, readFile);
  const fetchUrl = tool('fetch_url', 230, () =>
    Promise.reject(new Error('connect ECONNREFUSED 10.0.0.7:443')),
  );
  const writeFile = tool('write_file', 140);
  const research = tool('research', 120, () =>
    enforcement.withRun(
      async () => {
        await wait(80);
        await search();
        await wait(60);
        await readFile();
      },
      { id: 'researcher' },
    ),
  );
  const steps = [
    search,
    () => Promise.all([readFile(), readFile(), summarize()]),
    fetchUrl,
    fetchUrl,
    research,
    writeFile,
    search,
    search,
  ];
  await enforcement.withRun(
    async () => {
      for (const step of steps) {
        await wait(120);
        await step().catch(() => {});
      }
    },
    { id: 'answer-the-question' },
  );
}

/**
 * Runs for the list: one that goes on until the signal, one that is aborted, one that spends its budget, one that ends well.
 *
 * @param {AbortSignal} signal
 */
async function startOthers(signal) {
  const enforcement = createEnforcement({
    supervisor: createSupervisor({ maxSteps: 20, onBudgetExhausted: 'terminate' }),
  });
  const small = createEnforcement({
    supervisor: createSupervisor({ maxSteps: 3, onBudgetExhausted: 'terminate' }),
  });
  for (const each of [enforcement, small]) each.on(observer);
  const search = enforcement.tool('search', () => wait(20));
  const read = small.tool('read_mail', () => wait(20));
  const listen = enforcement.tool('listen', () => wait(60_000, undefined, { signal }));
  /** @param {() => Promise<unknown>} call @param {number} times */
  const repeat = async (call, times) => {
    for (let time = 0; time < times; time += 1) await call();
  };
  await Promise.allSettled([
    enforcement.withRun(() => repeat(search, 6), { id: 'triage-4711' }),
    enforcement.withRun(
      async (run) => {
        await repeat(search, 2);
        run.abort('the user closed the window');
      },
      { id: 'plan-a-trip' },
    ),
    small.withRun(() => repeat(read, 4), { id: 'sort-the-inbox' }),
    enforcement.withRun(() => repeat(search, 11).then(listen), { id: 'watch-the-feed' }),
  ]);
}

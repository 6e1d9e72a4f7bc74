// @ts-check
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { createEnforcement, createSupervisor, Refusal } from 'phasegate';
import { auditLog } from 'phasegate/audit';
import { inspectTo } from 'phasegate/inspect';
import { otel } from 'phasegate/otel';
import { ARGS, calls, tool } from './task.mjs';

/** @typedef {import('./task.mjs').Task} Task */

/** The guarded call, with somebody who observes it. @returns {Promise<Task[]>} */
export async function observedTasks() {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  const address = await servePage();
  return [
    observed('heard', 'a listener', () => {}),
    observed('streamed', 'streamed to phasegate inspect', inspectTo(address)),
    observed('logged', 'an audit log', auditLog(join(folder, 'plain.jsonl'))),
    observed('chained', 'an audit log, chained', auditLog(join(folder, 'chained.jsonl'), { chain: true })),
    observed('traced', 'an OpenTelemetry span and metrics', otel(telemetry())),
    guarded('inspected', 'shown to an XState inspector', { inspect: () => {} }),
  ];
}

/** @param {string} id @param {string} name @param {import('phasegate').Listener | import('phasegate').Observer} observer */
function observed(id, name, observer) {
  return guarded(id, name, {}, observer);
}

/**
 * @param {string} id @param {string} name @param {import('phasegate').EnforcementOptions} options
 * @param {import('phasegate').Listener | import('phasegate').Observer} [observer]
 * @returns {Task}
 */
function guarded(id, name, options, observer) {
  const supervisor = createSupervisor({ maxSteps: Number.POSITIVE_INFINITY });
  const enforcement = createEnforcement({ supervisor, ...options });
  if (observer !== undefined) enforcement.on(observer);
  const run = enforcement.beginRun();
  return calls(id, `guarded call: ${name}`, () => {
    const call = run.admit('search', ARGS);
    if (call instanceof Refusal || call instanceof Promise) throw new Error('not admitted');
    const length = tool(ARGS);
    run.afterCall(call);
    return length;
  });
}

/** The SDK as programs set it up, with an exporter that takes all and sends nothing. */
function telemetry() {
  const exporter = {
    /** @param {unknown} _spans @param {(result: { code: number }) => void} done */
    export: (_spans, done) => done({ code: 0 }),
    shutdown: async () => {},
  };
  const tracerProvider = new NodeTracerProvider({ spanProcessors: [new BatchSpanProcessor(exporter)] });
  return { tracerProvider, meterProvider: new MeterProvider() };
}

/** The page in a process of its own, as users have it. @returns {Promise<string>} Its address. */
async function servePage() {
  const cli = fileURLToPath(new URL('../../dist/cli/index.js', import.meta.url));
  const child = spawn(process.execPath, [cli, 'inspect', '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.on('exit', () => child.kill());
  child.unref();
  let text = '';
  for await (const piece of child.stdout) {
    text += piece;
    if (text.includes('}')) break;
  }
  return JSON.parse(text).url;
}

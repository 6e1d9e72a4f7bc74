// @ts-check
// A service as users write one: node service.mjs <port> <file with the objects to serve>
import { readFileSync } from 'node:fs';
import * as restate from '@restatedev/restate-sdk';
import { createEnforcement, createMonitor, createSupervisor } from 'phasegate';
import { phasegateObject } from 'phasegate/restate';

const [port, file] = process.argv.slice(2);

/** @type {readonly import('./processes.mjs').ServedObject[]} */
const objects = JSON.parse(readFileSync(String(file), 'utf8'));

/** @type {Record<string, import('phasegate').Check['check']>} */
const CHECKS = {
  'no-mail': ({ tool }) => ({ allowed: tool !== 'send_email', code: 'no-mail', message: 'No mail today' }),
  'throws-at-night': ({ args }) => {
    if (Number(Object(args).hour) < 6) throw new Error('I sleep');
    return { allowed: true };
  },
};

const services = objects.map(({ name, supervisor: rules, table = {}, checks, enforcement: how, options }) => {
  const supervisor = createSupervisor(rules);
  for (const [from = '', to = ''] of table.remove ?? []) supervisor.removeTransition(from, to);
  for (const [from = '', to = ''] of table.add ?? []) supervisor.addTransition(from, to);
  const monitor = createMonitor(
    {},
    {
      dfaSupervisor: supervisor,
      checks: (checks ?? []).map((check) => ({
        name: check,
        check: CHECKS[check] ?? (() => ({ allowed: true })),
      })),
    },
  );
  const enforcement = createEnforcement({ supervisor, monitor, ...how });
  return phasegateObject(restate, { enforcement, ...(name === undefined ? {} : { name }), ...options });
});

// Connections that are lost are what is tested.
await restate.serve({ services, port: Number(port), logger: () => {} });

// @ts-check
/** Restate's server and the processes around it, on loopback, each of which can be killed. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const HOST = '127.0.0.1';

/** @type {Set<import('node:child_process').ChildProcess>} */
const running = new Set();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
// Whoever runs the tests may be killed without a word to its workers.
const parent = process.ppid;
setInterval(() => process.ppid === parent || process.exit(1), 500).unref();

/** A process that can be killed and started again, and is not left behind. */
export class Child {
  #command;
  #args;
  #options;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #process;

  /** @param {string} command @param {readonly string[]} args @param {import('node:child_process').SpawnOptions} options */
  constructor(command, args, options = {}) {
    this.#command = command;
    this.#args = args;
    this.#options = options;
  }

  start() {
    const child = spawn(this.#command, this.#args, {
      stdio: ['ignore', 'ignore', 'inherit'],
      ...this.#options,
    });
    this.#process = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
  }

  get pid() {
    return this.#process?.pid;
  }

  /** As `kill -9` does it. */
  async kill() {
    const child = this.#process;
    if (child === undefined || !running.has(child)) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  /** @returns {Promise<number | null>} With what code it ended. */
  async ended() {
    const child = this.#process;
    if (child === undefined) return null;
    if (running.has(child)) await new Promise((resolve) => child.once('exit', resolve));
    return child.exitCode;
  }
}

/** Restate's server, with its data in a folder that outlives it. */
export class RestateServer {
  /** @param {string} folder @param {readonly number[]} ports */
  constructor(folder, [node, ingress, admin]) {
    this.ingress = `http://${HOST}:${ingress}`;
    this.admin = `http://${HOST}:${admin}`;
    const config = join(folder, 'restate.toml');
    writeFileSync(
      config,
      `disable-telemetry = true
bind-ip = "${HOST}"
bind-port = ${node}
default-num-partitions = 4
rocksdb-total-memory-size = "256.0 MiB"
log-filter = "error,octocrab=off"

[ingress]
bind-port = ${ingress}

[admin]
bind-port = ${admin}
`,
    );
    const args = ['--no-logo', '--config-file', config, '--node-name', 'n1', '--listen-mode', 'tcp'];
    this.child = new Child(serverBinary(), [...args, '--base-dir', join(folder, 'data')]);
  }

  async start() {
    this.child.start();
    await until('the server is ready', async () => (await fetch(`${this.ingress}/restate/health`)).ok);
    await until('its admin is ready', async () => (await fetch(`${this.admin}/health`)).ok);
  }

  /** Tells the server where services are. @param {string} uri */
  async register(uri) {
    await until(`${uri} is registered`, async () => {
      const response = await fetch(`${this.admin}/deployments`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ uri }),
      });
      if (!response.ok) throw new Error(await response.text());
      return true;
    });
  }
}

// The launcher of the package would leave the server behind when it is killed.
function serverBinary() {
  const { platform, arch } = process;
  const require = createRequire(import.meta.url);
  return require.resolve(`@restatedev/restate-server-${platform}-${arch}/bin/restate-server`);
}

/**
 * An object that a service is to serve: see `service.mjs`.
 *
 * @typedef {{
 *   readonly name?: string;
 *   readonly supervisor?: import('phasegate').SupervisorOptions;
 *   readonly table?: {
 *     readonly add?: readonly (readonly [string, string])[];
 *     readonly remove?: readonly (readonly [string, string])[];
 *   };
 *   readonly checks?: readonly string[];
 *   readonly enforcement?: Omit<import('phasegate').EnforcementOptions, 'supervisor' | 'monitor'>;
 *   readonly options?: Omit<import('phasegate/restate').PhasegateObjectOptions, 'name' | 'enforcement'>;
 * }} ServedObject
 */

/** A process that serves objects at a port: a machine of its own. */
export class Service {
  /** @param {number} port @param {Child} child */
  constructor(port, child) {
    this.port = port;
    this.child = child;
  }

  async start() {
    this.child.start();
    await until('the service listens', () => canConnect(this.port));
  }
}

/**
 * What stands before services in production too: each connection goes to the next of those that are up.
 *
 * @param {number} port @param {readonly Service[]} services
 */
async function startBalancer(port, services) {
  let turn = 0;
  const server = createServer((client) => {
    turn += 1;
    const order = services.map((_, index) => services[(turn + index) % services.length]?.port ?? 0);
    forward(client, order);
  });
  await new Promise((resolve) => server.listen(port, HOST, () => resolve(undefined)));
  return server;
}

/** @param {import('node:net').Socket} client @param {readonly number[]} ports */
function forward(client, [port, ...others]) {
  if (port === undefined) {
    client.destroy();
    return;
  }
  const service = connect({ port, host: HOST, noDelay: true });
  client.setNoDelay(true);
  let connected = false;
  service.once('connect', () => {
    connected = true;
    client.pipe(service).pipe(client);
    client.once('close', () => service.destroy());
  });
  service.on('error', () => {});
  service.once('close', () => (connected ? client.destroy() : forward(client, others)));
  client.on('error', () => service.destroy());
}

/**
 * A server, with services on as many machines behind a balancer.
 *
 * @param {readonly ServedObject[]} objects
 */
export async function startCluster(objects, machines = 1) {
  const folder = mkdtempSync(join(tmpdir(), 'phasegate-restate-'));
  const file = join(folder, 'objects.json');
  writeFileSync(file, JSON.stringify(objects));
  const [balanced = 0, ...ports] = await freePorts(4 + machines);
  const server = new RestateServer(folder, ports);
  const program = fileURLToPath(new URL('service.mjs', import.meta.url));
  const services = ports
    .slice(3)
    .map((port) => new Service(port, new Child(process.execPath, [program, String(port), file])));
  const balancer = await startBalancer(balanced, services);
  await Promise.all([server.start(), ...services.map((service) => service.start())]);
  await server.register(`http://${HOST}:${balanced}`);
  return {
    folder,
    server,
    services,
    ingress: server.ingress,
    async stop() {
      balancer.close();
      await Promise.all([server, ...services].map(({ child }) => child.kill()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @typedef {Awaited<ReturnType<typeof startCluster>>} Cluster */

/** Ports that were free just now. @param {number} count */
export async function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(servers.map(listening));
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** @param {import('node:net').Server} server @returns {Promise<number>} */
function listening(server) {
  return new Promise((resolve) => {
    server.listen(0, HOST, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

/** @param {number} port @returns {Promise<boolean>} */
function canConnect(port) {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/**
 * Waits for something that comes soon, or never.
 *
 * @param {string} what @param {() => Promise<boolean> | boolean} isSo
 */
export async function until(what, isSo, withinMs = 30_000) {
  const end = performance.now() + withinMs;
  let latest;
  while (performance.now() < end) {
    try {
      if (await isSo()) return;
    } catch (error) {
      latest = error;
    }
    await sleep(25);
  }
  throw new Error(`Waited ${withinMs} ms, and not: ${what}`, { cause: latest });
}

import {
  createEnforcement,
  createSupervisor,
  type EnforcementOptions,
  type PhasegateEvent,
  type SupervisorOptions,
} from 'phasegate';
import type { GateOptions } from 'phasegate/ai-sdk';
import { expect } from 'vitest';
import type { Agent, Body, Harness, Script, Setup } from './harness.ts';

type EventOf<Type extends PhasegateEvent['type']> = Extract<PhasegateEvent, { readonly type: Type }>;

/** What a scenario is set in: an enforcement with its budgets, what it tells, and the bodies that started. */
export class World {
  readonly enforcement;
  readonly events: PhasegateEvent[] = [];
  /** The name of each body that started, in order. */
  readonly started: string[] = [];

  constructor(rules: SupervisorOptions = {}, options: EnforcementOptions = {}) {
    this.enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...options });
    this.enforcement.on((event) => this.events.push(event));
  }

  /** An agent whose bodies are counted. */
  agent(harness: Harness, script: Script, bodies: Setup['bodies'], options: GateOptions = {}): Agent {
    return harness.agent({ enforcement: this.enforcement, options, script, bodies: this.counted(bodies) });
  }

  counted(bodies: Setup['bodies']): Setup['bodies'] {
    const counted = ([name, body]: [string, Body]): [string, Body] => [
      name,
      (args, context) => {
        this.started.push(name);
        return body(args, context);
      },
    ];
    return Object.fromEntries(Object.entries(bodies).map(counted));
  }

  of<Type extends PhasegateEvent['type']>(type: Type): EventOf<Type>[] {
    return this.events.filter((event): event is EventOf<Type> => event.type === type);
  }

  /** The runs that ended, in order. */
  get ended(): EventOf<'run.ended'>[] {
    return this.of('run.ended');
  }

  /** What must hold after every scenario. */
  expectSound(): void {
    // Of each run there is a beginning and an end.
    const runs = this.of('run.started').map(({ run }) => run);
    expect(this.ended.map(({ run }) => run).sort()).toEqual([...runs].sort());
    // No body started that was not admitted, and none after the end of its run.
    const admitted = this.of('call.started');
    expect(this.started.length).toBeLessThanOrEqual(admitted.length);
    for (const { run } of this.ended) {
      const end = this.events.findIndex((event) => event.type === 'run.ended' && event.run === run);
      const later = this.events
        .slice(end)
        .filter((event) => event.type === 'call.started' && event.run === run);
      expect(later).toEqual([]);
    }
    // No run went past its budget.
    const { maxSteps } = this.enforcement.supervisor.rules;
    for (const { stepCount } of this.ended) expect(stepCount).toBeLessThanOrEqual(maxSteps);
  }
}

/** A promise, and the hands that settle it. */
export function gate<T = void>(): { passed: Promise<T>; open(value: T): void; fail(error: unknown): void } {
  let open!: (value: T) => void;
  let fail!: (error: unknown) => void;
  const passed = new Promise<T>((resolve, reject) => {
    open = resolve;
    fail = reject;
  });
  return { passed, open, fail };
}

/** What a promise was rejected with. */
export async function errorOf(promise: PromiseLike<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => {
      throw new Error('expected a rejection', { cause: value });
    },
    (error: unknown) => error,
  );
}

/** Lets everything go on that waits for nothing but promises. */
export async function settled(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Reads a stream to its end. */
export async function read(stream: AsyncIterable<unknown>): Promise<unknown[]> {
  const pieces: unknown[] = [];
  for await (const piece of stream) pieces.push(piece);
  return pieces;
}

/** A model that asks for these turns, and then answers. */
export function turns(...asked: readonly (readonly { tool: string }[])[]): Script {
  return (turn) => asked[turn] ?? 'done';
}

/** The same tool, so many times. */
export function times(count: number, tool: string): { tool: string; args: { n: number } }[] {
  return Array.from({ length: count }, (_, n) => ({ tool, args: { n: n + 1 } }));
}

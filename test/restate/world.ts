import { vi } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  type EnforcementOptions,
  findToolExecutionBlocked,
  type SupervisorOptions,
} from '../../src/index.ts';
import {
  type PhasegateObjectOptions,
  phasegateObject,
  type RemoteEnforcement,
  type RemoteOptions,
  remoteEnforcement,
} from '../../src/restate/index.ts';
import { MemoryRestate } from './memory-restate.ts';

/** A service in memory, and machines with agents that ask it. */
export function serve(
  rules: SupervisorOptions = {},
  how: EnforcementOptions = {},
  options: Partial<PhasegateObjectOptions> = {},
) {
  const restate = new MemoryRestate();
  const enforcement = createEnforcement({ supervisor: createSupervisor(rules), ...how });
  phasegateObject(restate.sdk, { enforcement, ...options });
  const machine = (remote: Partial<RemoteOptions> = {}): RemoteEnforcement =>
    remoteEnforcement({ ingress: 'http://restate', fetch: restate.fetch, ...remote });
  return { restate, enforcement, machine };
}

/** The code and the message of a refusal; the result, if there was none. */
export async function refusalOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const { code, message } = findToolExecutionBlocked(error) ?? {};
    if (code === undefined) throw error;
    return { code, message };
  }
}

/** Lets everything happen that does within so many milliseconds. */
export async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
}

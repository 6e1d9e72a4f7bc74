import { type Gate, signalFor, withMethods } from '../adapters/index.ts';
import type { Call } from '../call.ts';
import { invalidArgument } from '../errors.ts';
import { callIdOf, errorResult, failOnError, RUN_KEY, resultOf } from './protocol.ts';
import { Turns } from './turns.ts';

/** What of a client is looked at. */
export interface Client {
  callTool(params: never, ...rest: never): Promise<unknown>;
}

/** How calls of a client are made. */
export interface ClientOptions {
  /**
   * Whether servers are told the id of the run, in `_meta` under `phasegate/run`, so that one which is under enforcement too
   * takes the calls of a run for those of a run.
   * @default false
   */
  readonly sendRunId?: boolean | undefined;
}

interface Params {
  readonly name: string;
  readonly arguments?: unknown;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
}

type CallTool = (params: Params, ...rest: unknown[]) => Promise<unknown>;

/** The same client, whose `callTool` asks for a call of the run that the code is inside of. */
export function superviseClient<C extends Client>(gate: Gate, client: C, options: ClientOptions = {}): C {
  if (typeof client?.callTool !== 'function') throw invalidArgument('client', 'a Client of MCP', client);
  const { sendRunId = false } = options;
  if (typeof sendRunId !== 'boolean') throw invalidArgument('sendRunId', 'true or false', sendRunId);
  const turns = new Turns();
  const send = (client.callTool as CallTool).bind(client);
  const takesSchema = client.callTool.length < 2;
  const callTool: CallTool = async (params, ...rest) =>
    await turns.call(gate.enforcement.currentRun(), (turn) => {
      const request = {
        tool: params?.name,
        args: params?.arguments,
        callId: callIdOf(params?._meta),
        turn,
      };
      const body = async (call: Call) => {
        const sent = sendRunId ? { ...params, _meta: { ...params._meta, [RUN_KEY]: call.run.id } } : params;
        return failOnError(await send(sent, ...withSignal(rest, call, takesSchema)));
      };
      return resultOf(gate.call<unknown>(request, body, errorResult));
    });
  // By which another gate sees the version, too.
  Object.defineProperty(callTool, 'length', { value: client.callTool.length });
  return withMethods(client, { callTool });
}

/**
 * The rest of the parameters, with the signal that stops the call: options alone in version 2, and in version 1 after the
 * schema of the result.
 */
function withSignal(rest: readonly unknown[], call: Call, takesSchema: boolean): unknown[] {
  const at = takesSchema ? 1 : 0;
  const options = rest[at] as RequestOptions | undefined;
  const parameters = [...rest];
  parameters[at] = { ...options, signal: signalFor(call, options?.signal) };
  return parameters;
}

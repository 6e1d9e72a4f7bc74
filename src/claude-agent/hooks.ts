import type { HookInput, Session } from './session.ts';

/** As the SDK hands it an event. */
type Hook = (
  input: HookInput,
  toolUseId: string | undefined,
  options?: { readonly signal?: AbortSignal },
) => Promise<object>;

/** Hooks of an event, as `options.hooks` has them. */
interface Matcher {
  readonly matcher?: string;
  readonly hooks: readonly Hook[];
  readonly timeout?: number;
  readonly onFailure?: 'continue' | 'block';
}

export type Hooks = Readonly<Record<string, readonly Matcher[] | undefined>>;

// In seconds. A call waits its turn for as long as the enforcement says, and what a refusal is to say, it has to say itself.
const NO_TIMEOUT = 2_000_000;

/** The hooks of a query: those by which its calls are asked for, and then those that it was given. */
export function hooksOf(session: Session, given: Hooks = {}): Hooks {
  const own: Record<string, Hook> = {
    PreToolUse: async (input, _, options) => {
      const reason = await reasonAgainst(session, input, options?.signal);
      if (reason === undefined) return {};
      const decision = { permissionDecision: 'deny', permissionDecisionReason: reason };
      return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...decision } };
    },
    PostToolUse: told((input) => session.end(input.tool_use_id)),
    PostToolUseFailure: told((input) => session.end(input.tool_use_id, { error: input.error })),
    PostToolBatch: told(({ agent_id, tool_calls = [] }) => {
      // What is still in flight was denied by somebody else, and did not run.
      for (const { tool_use_id } of tool_calls) session.end(tool_use_id, { error: 'The call was not run' });
      session.nextTurn(agent_id);
    }),
    SubagentStart: told((input) => session.startAgent(input)),
    SubagentStop: told((input) => session.stopAgent(input)),
  };
  const merged: Record<string, readonly Matcher[] | undefined> = { ...given };
  for (const [event, hook] of Object.entries(own)) {
    const first: Matcher = { hooks: [hook], timeout: NO_TIMEOUT };
    // Without it, Claude Code runs the tool when it gets no answer.
    const asking: Matcher = event === 'PreToolUse' ? { ...first, onFailure: 'block' } : first;
    merged[event] = [asking, ...(given[event] ?? [])];
  }
  return merged;
}

/** Whatever goes wrong while a call is asked for, it refuses. */
async function reasonAgainst(session: Session, input: HookInput, signal: AbortSignal | undefined) {
  try {
    return await session.admit(input, signal);
  } catch (error) {
    return error instanceof Error ? error.message : 'The call could not be asked for';
  }
}

function told(tell: (input: HookInput) => void): Hook {
  return async (input) => {
    tell(input);
    return {};
  };
}

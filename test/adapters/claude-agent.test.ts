import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type Gate, type GateOptions, supervise } from '../../src/claude-agent/index.ts';
import {
  createEnforcement,
  createSupervisor,
  type EnforcementOptions,
  type PhasegateEvent,
} from '../../src/index.ts';
import { flush, outcomeOf } from '../core/helpers.ts';

// What holds without Claude Code itself, which compat installs: hooks as the SDK documents them.

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(maxSteps = 50, options: GateOptions = {}, more: EnforcementOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps }), ...more });
  enforcement.on((event) => events.push(event));
  return supervise(enforcement, options);
}

const told = (type: PhasegateEvent['type']) => events.filter((event) => event.type === type);

type Hook = (input: object, id?: string, options?: { signal?: AbortSignal }) => Promise<object>;
interface Matcher {
  readonly hooks: readonly Hook[];
  readonly timeout?: number;
  readonly onFailure?: string;
}
interface Messages extends AsyncGenerator<unknown, void> {
  [Symbol.asyncDispose](): Promise<void>;
}
interface Options {
  abortController?: AbortController;
  hooks?: Record<string, readonly Matcher[]>;
}

/** A query as a script of the test: what it was given, and messages as the test hands them out. */
class Fake {
  options!: Required<Options>;
  readonly stopTask = vi.fn(async (_id: string) => {});
  readonly close = vi.fn();
  readonly #messages: ((result: IteratorResult<unknown, void>) => void)[] = [];

  readonly query = ({ options }: { prompt: string; options?: Options }) => {
    this.options = options as Required<Options>;
    const messages: Messages & Pick<Fake, 'stopTask' | 'close'> = {
      next: () => new Promise((resolve) => this.#messages.push(resolve)),
      return: async () => ({ done: true, value: undefined }),
      throw: async (error) => {
        throw error;
      },
      [Symbol.asyncIterator]: () => messages,
      [Symbol.asyncDispose]: async () => {},
      stopTask: this.stopTask,
      close: this.close,
    };
    return messages;
  };

  say(value: unknown): void {
    this.#messages.shift()?.({ done: false, value });
  }

  end(): void {
    this.#messages.shift()?.({ done: true, value: undefined });
  }

  async tell(event: string, input: object, options?: { signal?: AbortSignal }): Promise<object> {
    return (await this.options.hooks[event]?.[0]?.hooks[0]?.(input, undefined, options)) ?? {};
  }

  /** @returns Why the call was denied; nothing when it was not. */
  async ask(id: string, more: object = {}, options?: { signal?: AbortSignal }): Promise<string | undefined> {
    const input = { tool_name: 'search', tool_input: { n: 1 }, tool_use_id: id, ...more };
    const { hookSpecificOutput: output } = (await this.tell('PreToolUse', input, options)) as {
      hookSpecificOutput?: Record<string, string>;
    };
    if (output === undefined) return undefined;
    expect(output).toMatchObject({ hookEventName: 'PreToolUse', permissionDecision: 'deny' });
    return output['permissionDecisionReason'];
  }
}

let fake: Fake;

beforeEach(() => {
  fake = new Fake();
});

describe('hooks', () => {
  it('ask ahead of those that there are, and deny when they fail', () => {
    const own = { hooks: [async () => ({})] };
    gateOf().agent(fake.query)({ prompt: 'Go', options: { hooks: { PreToolUse: [own], Stop: [own] } } });
    const { PreToolUse = [], Stop } = fake.options.hooks;
    expect(PreToolUse).toEqual([expect.objectContaining({ onFailure: 'block' }), own]);
    // No matcher, that is all tools; and no answer before the enforcement's own time has come.
    expect(PreToolUse[0]).not.toHaveProperty('matcher');
    expect(PreToolUse[0]?.timeout).toBeGreaterThan(1_000_000);
    expect(Stop).toEqual([own]);
  });

  it('admit a call without deciding on its permission, and deny one that is refused, with what is legal instead', async () => {
    gateOf(1).agent(fake.query)({ prompt: 'Go' });
    expect(await fake.tell('PreToolUse', { tool_name: 'search', tool_input: {}, tool_use_id: 'c1' })).toEqual(
      {},
    );
    await fake.tell('PostToolUse', { tool_use_id: 'c1' });
    expect(await fake.ask('c2')).toContain('Step budget exhausted: 1/1. All tool calls');
    expect(told('call.started')).toMatchObject([{ call: 'c1', args: {} }]);
    expect(told('call.ended')).toMatchObject([{ call: 'c1', ok: true }]);
  });

  it('end a call that failed, that was denied by others, or of which a message tells', async () => {
    const messages = gateOf().agent(fake.query)({ prompt: 'Go' });
    await fake.ask('c1');
    await fake.tell('PostToolUseFailure', { tool_use_id: 'c1', error: 'gone' });
    await fake.ask('c2');
    await fake.tell('PostToolBatch', { tool_calls: [{ tool_use_id: 'c1' }, { tool_use_id: 'c2' }] });
    await fake.ask('c3');
    const next = messages.next();
    const result = { type: 'tool_result', tool_use_id: 'c3', is_error: true, content: 'Not today' };
    fake.say({ type: 'user', message: { content: [{ type: 'text' }, result] } });
    await next;
    expect(
      told('call.ended').map((event) => [
        event.type === 'call.ended' && event.call,
        'ok' in event && event.ok,
      ]),
    ).toEqual([
      ['c1', false],
      ['c2', false],
      ['c3', false],
    ]);
  });

  it('wait for a call in flight, and give back what nobody waits for any more', async () => {
    gateOf().agent(fake.query)({ prompt: 'Go' });
    await fake.ask('c1');
    const gone = new AbortController();
    const second = fake.ask('c2', {}, { signal: gone.signal });
    await flush();
    gone.abort();
    await fake.tell('PostToolUse', { tool_use_id: 'c1' });
    expect(await second).toContain('nobody waits');
    expect(await fake.ask('c3')).toBeUndefined();
  });

  it('deny whatever cannot be asked for', async () => {
    gateOf().agent(fake.query)({ prompt: 'Go' });
    expect(await fake.ask('c1', { tool_name: 7 })).toContain('tool');
    expect(told('call.started')).toEqual([]);
  });

  it('count the refusals of one turn as one', async () => {
    const messages = gateOf(0, { maxBlocked: 1 }).agent(fake.query)({ prompt: 'Go' });
    const next = outcomeOf(messages.next());
    for (const id of ['c1', 'c2', 'c3']) expect(await fake.ask(id)).toContain('Step budget');
    expect(fake.options.abortController.signal.aborted).toBe(false);
    await fake.tell('PostToolBatch', { tool_calls: [] });
    await fake.ask('c4');
    expect(fake.options.abortController.signal.aborted).toBe(true);
    expect(await next).toMatchObject({ error: { code: 'step-budget' } });
  });
});

describe('a query', () => {
  it('is a run that ends with its messages', async () => {
    const messages = gateOf().agent(fake.query)({ prompt: 'Go' });
    const next = messages.next();
    fake.say('hello');
    expect(await next).toEqual({ done: false, value: 'hello' });
    expect(told('run.ended')).toEqual([]);
    const last = messages.next();
    fake.end();
    expect(await last).toMatchObject({ done: true });
    expect(told('run.ended')).toMatchObject([{ reason: null }]);
  });

  it.each([
    ['return', (messages: Messages) => messages.return()],
    ['throw', (messages: Messages) => outcomeOf(messages.throw(new Error('Enough')))],
    ['dispose', (messages: Messages) => messages[Symbol.asyncDispose]()],
    ['close', (messages: Messages) => (messages as unknown as Fake).close()],
  ])('that is broken off by %s is aborted, and Claude Code with it', async (_, leave) => {
    const messages = gateOf().agent(fake.query)({ prompt: 'Go' });
    expect(messages[Symbol.asyncIterator]()).toBe(messages);
    await leave(messages);
    expect(told('run.ended')).toMatchObject([{ reason: expect.stringContaining('broken off') }]);
    expect(fake.options.abortController.signal.aborted).toBe(true);
    expect(await fake.ask('c1')).toContain('already completed');
  });

  it('is aborted by the controller that it was given', async () => {
    const abortController = new AbortController();
    const messages = gateOf().agent(fake.query)({ prompt: 'Go', options: { abortController } });
    const next = outcomeOf(messages.next());
    abortController.abort(new Error('The user has gone'));
    expect(await next).toMatchObject({ error: { message: 'The user has gone' } });
    expect(fake.options.abortController.signal.reason).toBe(abortController.signal.reason);
  });

  it('that was aborted before it began is aborted', async () => {
    const abortController = new AbortController();
    abortController.abort(new Error('Never mind'));
    gateOf().agent(fake.query)({ prompt: 'Go', options: { abortController } });
    expect(fake.options.abortController.signal.aborted).toBe(true);
  });

  it('is what a function asks, and nothing else is', () => {
    expect(() => gateOf().agent({ query: fake.query } as never)).toThrow(
      expect.objectContaining({ code: 'invalid-argument' }),
    );
  });
});

describe('subagents', () => {
  const launch = (id: string, type: string) =>
    fake.ask(id, { tool_name: 'Agent', tool_input: { subagent_type: type } });
  const start = (agent: string, type: string) =>
    fake.tell('SubagentStart', { agent_id: agent, agent_type: type });

  it('are child runs of the calls that started them, by their types and in their order', async () => {
    gateOf(50, {}, { parallel: 'concurrent' }).agent(fake.query)({ prompt: 'Go' });
    await launch('c1', 'finder');
    await launch('c2', 'reader');
    await launch('c3', 'finder');
    for (const [agent, type] of [
      ['a', 'finder'],
      ['b', 'finder'],
      ['c', 'reader'],
    ] as const)
      await start(agent, type);
    expect(told('run.started').map((event) => event.type === 'run.started' && event.call)).toEqual([
      null,
      'c1',
      'c3',
      'c2',
    ]);
  });

  it('share the budget, end when they stop, and have a run again when they go on', async () => {
    gateOf(3).agent(fake.query)({ prompt: 'Go' });
    await launch('c1', 'finder');
    await start('a', 'finder');
    expect(await fake.ask('c2', { agent_id: 'a' })).toBeUndefined();
    await fake.tell('PostToolUse', { tool_use_id: 'c2' });
    await fake.tell('SubagentStop', { agent_id: 'a' });
    await fake.tell('SubagentStop', { agent_id: 'nobody' });
    expect(told('run.ended')).toMatchObject([{ stepCount: 1 }]);
    expect(await fake.ask('c3', { agent_id: 'a' })).toBeUndefined();
    await fake.tell('PostToolUse', { tool_use_id: 'c3' });
    expect(await fake.ask('c4', { agent_id: 'a' })).toContain('(parent run)');
    expect(told('run.started').map((event) => event.type === 'run.started' && event.call)).toEqual([
      null,
      'c1',
      'c1',
    ]);
  });

  it('that no call is known of are children of the call in flight, or else make calls of the query itself', async () => {
    gateOf().agent(fake.query)({ prompt: 'Go' });
    await fake.ask('c1', { tool_name: 'Skill' });
    await fake.ask('c2', { agent_id: 'a' });
    await fake.tell('PostToolUse', { tool_use_id: 'c1' });
    await fake.tell('PostToolUse', { tool_use_id: 'c2' });
    await fake.ask('c3', { agent_id: 'b' });
    const runs = told('call.started').map((event) => event.type === 'call.started' && event.run);
    expect(runs[1]).not.toBe(runs[0]);
    expect(runs[2]).toBe(runs[0]);
  });

  it('are stopped when their run is aborted, and not asked for any more', async () => {
    gateOf(1, { onBlocked: 'abort' }).agent(fake.query)({ prompt: 'Go' });
    await launch('c1', 'finder');
    await start('a', 'finder');
    expect(await fake.ask('c2', { agent_id: 'a' })).toContain('Step budget');
    expect(fake.stopTask).toHaveBeenCalledWith('a');
    expect(await fake.ask('c3', { agent_id: 'a' })).toContain('already completed');
    expect(fake.options.abortController.signal.aborted).toBe(false);
  });

  it('that nest too deep are denied all calls', async () => {
    gateOf(50, { maxDepth: 0 }).agent(fake.query)({ prompt: 'Go' });
    await launch('c1', 'finder');
    expect(await start('a', 'finder')).toEqual({});
    expect(await fake.ask('c2', { agent_id: 'a' })).toContain('Runs nest deeper than 0');
  });
});

describe('tools', () => {
  const tool = (handler: (args: object, extra?: { signal?: AbortSignal; _meta?: object }) => unknown) => ({
    name: 'search',
    handler,
  });
  const meta = (id: string) => ({ _meta: { 'claudecode/toolUseId': id } });

  it('run inside of the call that was asked for, once', async () => {
    const gate = gateOf();
    const [search] = gate.tools([tool(() => 'found')]);
    const query = gate.agent((parameters: { prompt: string; options?: Options }) => {
      const messages = fake.query(parameters);
      // As the SDK does, in the place where the query was made.
      void (async () => {
        await fake.ask('c1');
        await search?.handler({}, meta('c1'));
        await search?.handler({}, meta('c1'));
      })();
      return messages;
    });
    const messages = query({ prompt: 'Go' });
    await vi.waitFor(() => expect(told('call.waiting')).toHaveLength(1));
    // The second is a call of its own, which waits for the first to end.
    await fake.tell('PostToolUse', { tool_use_id: 'c1' });
    await vi.waitFor(() => expect(told('call.ended')).toHaveLength(2));
    await messages.return();
  });

  it('are wrapped once, keep what they have, and are refused outside of a run', async () => {
    const gate = gateOf();
    const [search] = gate.tools([{ ...tool(() => 'found'), description: 'Searches.' }]);
    expect(search).toMatchObject({ name: 'search', description: 'Searches.' });
    expect(gate.tools([search])).toEqual([search]);
    expect(await outcomeOf(Promise.resolve(search?.handler({})))).toMatchObject({
      error: { code: 'no-active-run' },
    });
    expect(await gate.run(() => search?.handler({}))).toBe('found');
  });

  it('that are none are an error', () => {
    for (const tools of [null, {}, [null], [{ name: 'search' }]]) {
      expect(() => gateOf().tools(tools as never)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  type PhasegateEvent,
} from '../../src/index.ts';
import { type Gate, type GateOptions, supervise } from '../../src/mastra/index.ts';
import { outcomeOf } from '../core/helpers.ts';

// What holds without Mastra itself, which compat installs.

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(maxSteps = 50, options: GateOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps }) });
  enforcement.on((event) => events.push(event));
  return supervise(enforcement, options);
}

const told = (type: PhasegateEvent['type']) => events.filter((event) => event.type === type);

interface Context {
  abortSignal?: AbortSignal;
  readonly toolCallId?: string;
  readonly agent?: { readonly toolCallId: string };
}

interface Tool {
  readonly execute: (input: unknown, context?: Context) => unknown;
}

interface Options {
  readonly abortSignal?: AbortSignal;
  readonly prepareStep?: (step: { tools: Record<string, Tool> }) => unknown;
  readonly hooks?: { readonly beforeToolCall?: (context: { toolName: string; context: unknown }) => unknown };
}

/** An agent that is Mastra's as far as the adapter sees it: it prepares a turn, and calls its tool as often as it is told. */
class Fake {
  readonly tools: Record<string, Tool>;
  readonly calls: number;
  readonly #name = 'fake';
  /** Without it the turn has been prepared elsewhere. */
  prepares = true;

  constructor(tools: Record<string, Tool>, calls = 1) {
    this.tools = tools;
    this.calls = calls;
  }

  get name(): string {
    return this.#name;
  }

  listTools() {
    return this.tools;
  }

  listAgents(): Record<string, object> {
    return {};
  }

  async generate(_: string, options: Options = {}) {
    const hooked = Object.fromEntries(
      Object.entries(this.tools).map(([name, tool]) => [
        name,
        {
          execute: async (input: unknown, context?: Context) => {
            await options.hooks?.beforeToolCall?.({ toolName: name, context });
            return await tool.execute(input, context);
          },
        },
      ]),
    );
    const prepared = this.prepares ? await options.prepareStep?.({ tools: hooked }) : undefined;
    const { tools = hooked } = (prepared ?? {}) as { tools?: Record<string, Tool> };
    const asked = Array.from({ length: this.calls }, (_unused, n) => n);
    return await Promise.allSettled(
      asked.map((n) => tools['search']?.execute({ n }, { toolCallId: `c${n}` })),
    );
  }

  async stream(prompt: string, options?: Options) {
    return await this.generate(prompt, options);
  }

  async network() {
    return await this.tools['search']?.execute({});
  }
}

describe('tools', () => {
  it('keep all that they have, and are called as methods of what they were', async () => {
    class Search {
      readonly id = 'search';
      readonly #found = 'found';
      execute(_input: object, _context?: Context) {
        return this.#found;
      }
    }
    const gate = gateOf();
    const { search } = gate.tools({ search: new Search() });
    expect(search).toBeInstanceOf(Search);
    expect(search.id).toBe('search');
    expect(await gate.run(() => search.execute({}, { agent: { toolCallId: 'c1' } }))).toBe('found');
    expect(told('call.started')).toMatchObject([{ call: 'c1', tool: 'search' }]);
  });

  it('are wrapped once, and not where they have no body', () => {
    const gate = gateOf();
    const wrapped = gate.tools({ ask: { execute: undefined }, search: { execute: () => 'found' } });
    expect(gate.tools(wrapped)).toEqual(wrapped);
    expect(wrapped.ask.execute).toBeUndefined();
  });

  it('that are none are an error', () => {
    const gate = gateOf();
    for (const tools of [null, 'search', { search: 'search' }, { search: null }]) {
      expect(() => gate.tools(tools as never)).toThrow(expect.objectContaining({ code: 'invalid-argument' }));
    }
  });

  it('are handed the very context that they were called with, with a signal that the run aborts', async () => {
    const seen: unknown[] = [];
    const gate = gateOf();
    const { search } = gate.tools({
      search: { execute: (_: object, context?: Context) => void seen.push(context, context?.abortSignal) },
    });
    const context: Context = { toolCallId: 'c1' };
    await gate.run(async (run) => {
      await search.execute({}, context);
      await search.execute({});
      expect(seen[0]).toBe(context);
      expect(seen[1]).toBe(run.signal);
      expect(seen[3]).toBe(run.signal);
    });
  });

  it('that answer that something did not fit have failed, and answer so all the same', async () => {
    const invalid = { error: true, message: 'It did not fit', validationErrors: {} };
    const gate = gateOf();
    const { search } = gate.tools({ search: { execute: async () => invalid } });
    expect(await gate.run(() => search.execute())).toBe(invalid);
    expect(told('call.ended')).toMatchObject([{ ok: false }]);
  });

  it('are refused outside of a run', async () => {
    const { search } = gateOf().tools({ search: { execute: async () => 'found' } });
    const outcome = await outcomeOf(Promise.resolve(search.execute()));
    expect(outcome).toMatchObject({ error: { code: 'no-active-run' } });
  });
});

describe('an agent', () => {
  it('has its calls asked for, with the ids that they were given', async () => {
    const agent = gateOf(2).agent(new Fake({ search: { execute: () => 'found' } }, 3));
    const results = await agent.generate('Go');
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    expect(findToolExecutionBlocked((results[2] as PromiseRejectedResult).reason)).toMatchObject({
      code: 'step-budget',
      callId: 'c2',
    });
    expect(told('run.ended')).toMatchObject([{ stepCount: 2 }]);
  });

  it('asks once for a tool that asks by itself', async () => {
    const gate = gateOf();
    const agent = gate.agent(new Fake(gate.tools({ search: { execute: () => 'found' } })));
    await agent.stream('Go');
    expect(told('call.started')).toHaveLength(1);
  });

  it('asks for a tool that asks by itself where the body of another calls it', async () => {
    const gate = gateOf();
    const { read } = gate.tools({ read: { execute: async () => 'a page' } });
    await gate.agent(new Fake({ search: { execute: () => read.execute() } })).generate('Go');
    expect(told('call.started')).toMatchObject([
      { tool: 'search', parent: null },
      { tool: 'read', parent: 'c0' },
    ]);
  });

  it('whose turn nobody prepared runs the tools only that ask by themselves', async () => {
    const gate = gateOf();
    for (const wrap of [(tools: Record<string, Tool>) => tools, gate.tools]) {
      const fake = new Fake(wrap({ search: { execute: () => 'found' } }));
      fake.prepares = false;
      const [result] = await gate.agent(fake).generate('Go');
      if (wrap === gate.tools) expect(result).toMatchObject({ value: 'found' });
      else expect(result).toMatchObject({ reason: { code: 'unsupervised-tool' } });
    }
  });

  it('that can delegate to one that is not under enforcement is not asked', async () => {
    const gate = gateOf();
    const outer = new Fake({});
    const inner = new Fake({});
    outer.listAgents = () => ({ inner });
    expect(await outcomeOf(gate.agent(outer).generate('Go'))).toMatchObject({
      error: { code: 'unsupervised-agent', message: expect.stringContaining('inner') },
    });
    outer.listAgents = () => ({ inner: gate.agent(inner) });
    expect(await gate.agent(outer).generate('Go')).toMatchObject([{ value: undefined }]);
  });

  it('is closed where its calls could not be asked for, and for the rest as it was', () => {
    const agent = gateOf().agent(new Fake({}));
    expect(() => agent.network()).toThrow(expect.objectContaining({ code: 'unsupervised-method' }));
    expect(agent.name).toBe('fake');
  });

  it('that is none is an error', () => {
    for (const agent of [null, {}, { generate: () => 1 }]) {
      expect(() => gateOf().agent(agent as never)).toThrow(
        expect.objectContaining({ code: 'invalid-argument' }),
      );
    }
  });

  it('whose caller aborts rejects with the reason, whatever it does', async () => {
    const caller = new AbortController();
    const stop = () => {
      caller.abort(new Error('The user has gone'));
      return new Promise(() => {});
    };
    const agent = gateOf().agent(new Fake({ search: { execute: stop } }));
    expect(await outcomeOf(agent.generate('Go', { abortSignal: caller.signal }))).toMatchObject({
      error: { message: 'The user has gone' },
    });
  });
});

import { getEventListeners } from 'node:events';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Gate, type GateOptions, supervise } from '../../src/ai-sdk/index.ts';
import {
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  type PhasegateEvent,
} from '../../src/index.ts';
import { flush, outcomeOf } from '../core/helpers.ts';

// What holds without the AI SDK itself, which compat installs.

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(maxSteps = 50, options: GateOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps }) });
  enforcement.on((event) => events.push(event));
  return supervise(enforcement, options);
}

const OPTIONS = { toolCallId: 'c1', messages: [] };

interface Options {
  readonly toolCallId?: string;
  readonly abortSignal?: AbortSignal;
}

describe('tools', () => {
  it('keep all that they have, and are called as methods of what they were', async () => {
    class Search {
      readonly description = 'Searches.';
      readonly #found = 'found';
      get inputSchema() {
        return { type: 'object' };
      }
      execute(_input: object, _options: Options) {
        return this.#found;
      }
    }
    const gate = gateOf();
    const { search } = gate.tools({ search: new Search() });
    expect(search).toBeInstanceOf(Search);
    expect(search).toMatchObject({ description: 'Searches.', inputSchema: { type: 'object' } });
    expect(await gate.run(() => search.execute({}, OPTIONS))).toBe('found');
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', call: 'c1', tool: 'search' }),
    );
  });

  it('without a body are left as they are, and so are those that have been through it', () => {
    const gate = gateOf();
    const tools = { ask: { description: 'Asks.', execute: undefined }, search: { execute: () => 'found' } };
    const wrapped = gate.tools(tools);
    expect(wrapped.ask).toBe(tools.ask);
    expect(wrapped.search).not.toBe(tools.search);
    expect(gate.tools(wrapped).search).toBe(wrapped.search);
  });

  it.each([
    [null, 'tools must be an object with a tool under each name, got null'],
    [{ search: 1 }, 'tools.search must be a tool, got 1'],
  ])('are no %j', (tools, message) => {
    expect(() => gateOf().tools(tools as never)).toThrow(message);
  });

  it('are refused in an error that says what is legal instead, and whose cause is the refusal', async () => {
    const gate = gateOf(0);
    const { search } = gate.tools({ search: { execute: async () => 'found' } });
    const { error } = (await outcomeOf(gate.run(() => search.execute()))) as { error: Error };
    expect(error.message).toMatch(/^Step budget exhausted: 0\/0\. .* Answer now with what you have\.$/);
    expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'step-budget' });
  });

  it('are handed the signal of their run, and what they were called with besides', async () => {
    const gate = gateOf();
    const seen: AbortSignal[] = [];
    const { search } = gate.tools({
      search: {
        execute: async (_input: object, { abortSignal }: Options) => {
          if (abortSignal !== undefined) seen.push(abortSignal);
        },
      },
    });
    const own = new AbortController();
    await gate.run(async (run) => {
      await search.execute({}, { ...OPTIONS, abortSignal: own.signal });
      await search.execute({}, { ...OPTIONS, abortSignal: run.signal });
      await search.execute({}, OPTIONS);
      expect(seen.slice(1)).toEqual([run.signal, run.signal]);
    });
    own.abort('stop');
    expect(seen[0]?.reason).toBe('stop');
    const aborted = gate.run(async (run) => {
      await search.execute({}, { ...OPTIONS, abortSignal: new AbortController().signal });
      run.abort('enough');
    });
    await outcomeOf(aborted);
    expect(seen.at(-1)?.reason).toBe('enough');
  });

  it('know by the list of messages which calls the model asked for in one turn', async () => {
    const gate = gateOf(0, { maxBlocked: 1 });
    const { search } = gate.tools({ search: { execute: (_input: object, _options: object) => 'found' } });
    const ask = async (messages: object[]) => {
      await Promise.resolve(search.execute({}, { toolCallId: 'c1', messages })).catch(() => undefined);
    };
    const turn: object[] = [];
    let before: string[] = [];
    const outcome = gate.run(async () => {
      for (let n = 0; n < 5; n += 1) await ask(turn);
      before = events.map(({ type }) => type);
      await ask([]);
    });
    await expect(outcome).rejects.toMatchObject({ code: 'step-budget' });
    expect(before.filter((type) => type === 'call.refused')).toHaveLength(5);
    expect(before).not.toContain('run.ended');
  });
});

describe('bodies that give pieces', () => {
  it('are iterables at once when they are known to be, and keep giving pieces when they are not', async () => {
    const gate = gateOf();
    let iterates = true;
    async function* pieces() {
      yield 'one';
      yield 'two';
    }
    const { search } = gate.tools({ search: { execute: () => (iterates ? pieces() : 'only') } });
    const read = async () => {
      const result = [];
      for await (const piece of search.execute() as AsyncIterable<string>) result.push(piece);
      return result;
    };
    await gate.run(async () => {
      expect(await read()).toEqual(['one', 'two']);
      iterates = false;
      expect(await read()).toEqual(['only']);
    });
    expect(events.filter(({ type }) => type === 'call.ended')).toMatchObject([{ ok: true }, { ok: true }]);
  });

  it('leave nothing on the signal of a run that goes on', async () => {
    const gate = gateOf();
    async function* pieces() {
      yield 'one';
    }
    const { search } = gate.tools({ search: { execute: pieces } });
    await gate.run(async (run) => {
      const before = getEventListeners(run.signal, 'abort').length;
      for (let i = 0; i < 20; i++) for await (const piece of search.execute()) expect(piece).toBe('one');
      await flush();
      expect(getEventListeners(run.signal, 'abort')).toHaveLength(before);
    });
  });

  it('that have to wait their turn give the last piece, unless they are known', async () => {
    const gate = gateOf();
    async function* pieces() {
      yield 'one';
      yield 'two';
    }
    const { search } = gate.tools({ search: { execute: (): unknown => pieces() } });
    await gate.run(async () => {
      const first = search.execute() as AsyncIterable<string>;
      const [known, unknown] = [gate.tools({ read: { execute: pieces } }).read.execute(), search.execute()];
      const read = async (from: AsyncIterable<string>) => {
        const result = [];
        for await (const piece of from) result.push(piece);
        return result;
      };
      expect(await Promise.all([read(first), read(known)])).toEqual([
        ['one', 'two'],
        ['one', 'two'],
      ]);
      expect(await read(unknown as AsyncIterable<string>)).toEqual(['one', 'two']);
    });
    const other = gate.tools({
      busy: { execute: () => flush() },
      search: { execute: (): unknown => pieces() },
    });
    await gate.run(async () => {
      const results = [other.busy.execute(), other.search.execute()];
      expect(await Promise.all(results)).toEqual([undefined, 'two']);
    });
  });

  it('of a run that ends as their body starts give none', async () => {
    const gate = gateOf();
    let started = false;
    const tools = gate.tools({
      search: {
        execute: (): AsyncIterable<string> => {
          events.length = 0;
          end?.();
          return (async function* () {
            started = true;
            yield 'one';
          })();
        },
      },
    });
    let end: (() => void) | undefined;
    const outcome = outcomeOf(
      gate.run(async (run) => {
        end = () => run.abort('enough');
        await tools.search.execute()[Symbol.asyncIterator]().next();
      }),
    );
    expect(await outcome).toMatchObject({ status: 'rejected' });
    expect(started).toBe(false);
  });

  it('fail when the rest is not wanted, and clean up', async () => {
    const gate = gateOf();
    let cleaned = false;
    const { search } = gate.tools({
      search: {
        async *execute() {
          try {
            yield 'one';
            yield 'two';
          } finally {
            cleaned = true;
          }
        },
      },
    });
    await gate.run(async () => {
      for await (const _ of search.execute()) break;
      await flush();
    });
    expect(cleaned).toBe(true);
    expect(events).toContainEqual(expect.objectContaining({ type: 'call.ended', ok: false }));
  });

  it('of a run that has ended clean up without being asked for a piece', async () => {
    const gate = gateOf();
    let cleaned = false;
    const { search } = gate.tools({
      search: {
        async *execute() {
          try {
            yield 'one';
            yield 'two';
          } finally {
            cleaned = true;
          }
        },
      },
    });
    const outcome = outcomeOf(
      gate.run(async (run) => {
        const iterator = search.execute();
        await iterator.next();
        run.abort('enough');
        await flush();
      }),
    );
    await outcome;
    expect(cleaned).toBe(true);
  });

  it('that throw between pieces have failed', async () => {
    const gate = gateOf();
    const { search } = gate.tools({
      search: {
        async *execute() {
          yield 'one';
          throw new Error('no');
        },
      },
    });
    await gate.run(async () => {
      const iterator = search.execute();
      expect(await iterator.next()).toEqual({ done: false, value: 'one' });
      await expect(iterator.next()).rejects.toThrow('no');
    });
    expect(events).toContainEqual(expect.objectContaining({ type: 'call.ended', ok: false }));
  });

  it('that are refused give the refusal for each piece that is asked for', async () => {
    const gate = gateOf(0);
    const { search } = gate.tools({
      search: {
        async *execute() {
          yield 'one';
        },
      },
    });
    await gate.run(async () => {
      const iterator = search.execute();
      await expect(iterator.next()).rejects.toThrow('Step budget exhausted');
      await expect(iterator.next()).rejects.toThrow('Step budget exhausted');
    });
  });

  it('have no piece after the last', async () => {
    const gate = gateOf();
    const { search } = gate.tools({
      search: {
        async *execute() {
          yield 'one';
        },
      },
    });
    await gate.run(async () => {
      const iterator = search.execute();
      const [one, end, after] = [iterator.next(), iterator.next(), iterator.next()];
      expect(await Promise.all([one, end, after])).toEqual([
        { done: false, value: 'one' },
        { done: true, value: undefined },
        { done: true, value: undefined },
      ]);
      expect(await iterator.next()).toEqual({ done: true, value: undefined });
    });
  });
});

describe('agents', () => {
  it.each([[null], [1], [{ tools: {} }]])('are not %j', (agent) => {
    expect(() => gateOf().agent(agent as never)).toThrow(
      'agent must be an agent, or a function such as generateText',
    );
  });

  it('with a tool that has not been through tools are not taken', () => {
    const gate = gateOf();
    const agent = { generate: async () => 1, stream: async () => 1 };
    const { search } = gate.tools({ search: { execute: () => 1 } });
    expect(gate.agent({ ...agent, tools: { search, ask: {} } })).toBeDefined();
    expect(() => gate.agent({ ...agent, tools: { search, read: { execute: () => 1 } } })).toThrow(
      'The agent has tools that are not under enforcement: read.',
    );
  });

  it('are aborted with the signal of their caller, and so is their run', async () => {
    const gate = gateOf();
    const caller = new AbortController();
    const generate = gate.agent(({ abortSignal }: { abortSignal: AbortSignal }) => {
      caller.abort(new Error('gone'));
      return Promise.resolve(abortSignal.reason);
    });
    expect(await outcomeOf(generate({ abortSignal: caller.signal }))).toMatchObject({
      error: { message: 'gone' },
    });
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: 'gone' });
  });

  it('that are functions may be called without tools, and without anything', async () => {
    const gate = gateOf();
    const generate = gate.agent(
      async (options?: { tools?: Record<string, object>; abortSignal?: AbortSignal }) => options,
    );
    expect(await generate()).toEqual({ abortSignal: expect.any(AbortSignal) });
    const { tools } = (await generate({ tools: { search: { execute: () => 1 } } })) ?? {};
    expect(tools?.['search']).toEqual({ execute: expect.any(Function) });
    expect(events.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
  });

  it('keep what they have besides, with themselves as `this`', async () => {
    class Agent {
      readonly #name = 'finder';
      readonly tools = undefined;
      get name() {
        return this.#name;
      }
      rename() {
        return `${this.#name} again`;
      }
      async generate(_options: object) {
        return this.#name;
      }
      async stream(_options: object) {
        return { textStream: new ReadableStream() };
      }
    }
    const agent = gateOf().agent(new Agent());
    expect([agent.name, agent.rename(), await agent.generate({})]).toEqual([
      'finder',
      'finder again',
      'finder',
    ]);
    const { textStream } = await agent.stream({});
    await textStream.cancel();
    expect(events.filter(({ type }) => type === 'run.ended')).toHaveLength(2);
  });
});

import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createEnforcement,
  createSupervisor,
  findToolExecutionBlocked,
  type PhasegateEvent,
} from '../../src/index.ts';
import { type Gate, type GateOptions, supervise } from '../../src/openai-agents/index.ts';
import { outcomeOf } from '../core/helpers.ts';

// What holds without the SDK itself, which compat installs.

let events: PhasegateEvent[];

beforeEach(() => {
  events = [];
});

function gateOf(maxSteps = 50, options: GateOptions = {}): Gate {
  const enforcement = createEnforcement({ supervisor: createSupervisor({ maxSteps }) });
  enforcement.on((event) => events.push(event));
  return supervise(enforcement, options);
}

const ended = () => events.flatMap((event) => (event.type === 'call.ended' ? [event.ok] : []));

interface Options {
  readonly name?: string;
  readonly execute: (input: unknown, context?: object, details?: object) => unknown;
  readonly outputSchema?: object;
  readonly errorFunction?: (error: unknown) => unknown;
}

/** What the SDK's function does, as far as it matters: `execute` behind `invoke`, and a name of its own making. */
function tool(options: Options) {
  return {
    type: 'function' as const,
    name: (options.name ?? '').replace(' ', '_'),
    invoke: async (context: object | undefined, input: string, details?: object): Promise<unknown> => {
      return await options.execute(JSON.parse(input), context, details);
    },
  };
}

const DETAILS = { toolCall: { callId: 'c1' } };

describe('tools of a factory', () => {
  it('are calls under the name, the id and the arguments that the SDK gives them', async () => {
    const gate = gateOf();
    const seen: unknown[] = [];
    const search = gate.tool(tool)({
      name: 'web search',
      execute: (input, context) => {
        seen.push(input, context);
        return 'found';
      },
    });
    const context = { usage: {} };
    expect(await gate.run(() => search.invoke(context, '{"q":1}', DETAILS))).toBe('found');
    expect(seen).toEqual([{ q: 1 }, context]);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', tool: 'web_search', call: 'c1', args: { q: 1 } }),
    );
  });

  it('are named by their function when they have no name', () => {
    const search = gateOf().tool(tool)({ execute: function found() {} });
    expect(search.name).toBe('found');
  });

  it.each([[null], [1]])('are not made by %j', (factory) => {
    expect(() => gateOf().tool(factory as never)).toThrow('factory must be the function tool');
  });

  it.each([[undefined], [{ name: 'search' }]])('are not made of %j', (options) => {
    expect(() => gateOf().tool(tool)(options as never)).toThrow('execute must be a function');
  });

  it('are handed the signal of their run, and what else the SDK gives them, hidden or not', async () => {
    const gate = gateOf();
    const hidden = Symbol('hidden');
    const details = Object.defineProperty({ ...DETAILS, signal: new AbortController().signal }, hidden, {
      value: 'kept',
    });
    let seen: (typeof details & { [hidden]?: string }) | undefined;
    const search = gate.tool(tool)({
      name: 'search',
      execute: (_, __, inside) => {
        seen = inside as typeof details;
      },
    });
    await outcomeOf(
      gate.run(async (run) => {
        await search.invoke({}, '{}', details);
        run.abort('enough');
      }),
    );
    expect(seen?.[hidden]).toBe('kept');
    expect(seen?.toolCall).toBe(DETAILS.toolCall);
    expect(seen?.signal.reason).toBe('enough');
    expect(details.signal.aborted).toBe(false);
  });

  it('do not start when the SDK has given them up', async () => {
    const gate = gateOf();
    let started = false;
    const search = gate.tool(tool)({
      name: 'search',
      execute: () => {
        started = true;
      },
    });
    const signal = AbortSignal.abort(new Error('Too late'));
    const outcome = await gate.run(() => outcomeOf(search.invoke({}, '{}', { signal })));
    expect(outcome).toMatchObject({ error: { message: 'Too late' } });
    expect([started, ended()]).toEqual([false, [false]]);
  });

  it('return a refusal as their result; outside of a run, too', async () => {
    const gate = gateOf(0);
    const search = gate.tool(tool)({ name: 'search', execute: () => 'found' });
    expect(await gate.run(() => search.invoke({}, '{}'))).toMatch(
      /^Step budget exhausted: 0\/0\. .* Answer now with what you have\.$/,
    );
    expect(await search.invoke({}, '{}')).toMatch(/^Cannot call search: no agent run is active\. /);
  });

  it('throw what their body throws, also when that is a refusal of other tools outside of a run', async () => {
    const other = gateOf();
    const inner = other.enforcement.tool('inner', () => 'inner');
    const gate = gateOf();
    const search = gate.tool(tool)({ name: 'search', execute: () => inner() });
    const outcome = await gate.run(() => outcomeOf(search.invoke({}, '{}')));
    expect(outcome).toMatchObject({ error: { code: 'no-active-run', tool: 'inner' } });
    expect(ended()).toEqual([false]);
  });

  it('with an output schema throw a refusal for their errorFunction, and abort the run without one', async () => {
    const gate = gateOf(0);
    const options = { name: 'search', execute: () => 1, outputSchema: {} };
    const caught = gate.tool(tool)({ ...options, errorFunction: () => 0 });
    const { error } = (await gate.run(() => outcomeOf(caught.invoke({}, '{}')))) as { error: Error };
    expect(error.message).toMatch(/^Step budget exhausted: 0\/0\. .* Answer now/);
    expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'step-budget' });
    const bare = gate.tool(tool)(options);
    const outcome = await outcomeOf(gate.run(() => outcomeOf(bare.invoke({}, '{}'))));
    expect(outcome).toMatchObject({ status: 'rejected', error: { code: 'step-budget' } });
  });

  const asked = (usages: object[]) => {
    const gate = gateOf(0, { maxBlocked: 1 });
    const search = gate.tool(tool)({ name: 'search', execute: () => 'found' });
    return outcomeOf(
      gate.run(async () => {
        for (const usage of usages) await search.invoke({ usage }, '{}');
      }),
    );
  };

  it('know by the usage of the model which calls are of one turn', async () => {
    expect(await asked(Array(4).fill({ requests: 1 }))).toMatchObject({ status: 'fulfilled' });
    expect(await asked([{ requests: 1 }, { requests: 2 }])).toMatchObject({ error: { code: 'step-budget' } });
    expect(await asked([{ totalTokens: 5 }, { totalTokens: 5 }])).toMatchObject({ status: 'fulfilled' });
    expect(await asked([{ totalTokens: 5 }, { totalTokens: 9 }])).toMatchObject({ status: 'rejected' });
  });

  it('take each refusal for one of its own where nobody counts', async () => {
    expect(await asked([{ requests: 0 }, { requests: 0 }])).toMatchObject({ status: 'rejected' });
    expect(await asked([undefined, undefined] as never)).toMatchObject({ status: 'rejected' });
  });
});

describe('tools that are made already', () => {
  it('are calls, and are for the rest as they were', async () => {
    const gate = gateOf(1);
    const made = Object.freeze({
      ...tool({ name: 'search', execute: () => 'found' }),
      description: 'Searches.',
    });
    const [search] = gate.tools([made] as const);
    expect(search).toEqual({ ...made, invoke: expect.any(Function) });
    expect(await gate.run(() => search.invoke({}, '{}', DETAILS))).toBe('found');
    expect(events).toContainEqual(expect.objectContaining({ type: 'call.started', call: 'c1', args: {} }));
    const broken = gate.tools([{ ...made, invoke: async () => 'An error occurred' }] as const)[0];
    expect(await gate.run(() => (broken as typeof made).invoke({}, 'no JSON'))).toBe('An error occurred');
    expect(events).toContainEqual(expect.objectContaining({ type: 'call.started', args: 'no JSON' }));
    expect(ended()).toEqual([true, true]);
  });

  it('with an output schema refuse in what their errorFunction makes of it, and abort the run without one', async () => {
    const gate = gateOf(0);
    const made = { ...tool({ name: 'search', execute: () => 1 }), outputSchema: {} };
    const [caught] = gate.tools([
      { ...made, errorFunction: (_: object, { message }: Error) => [message] },
    ] as const);
    expect(await gate.run(() => caught.invoke({}, '{}'))).toEqual([
      expect.stringMatching(/^Step budget exhausted: 0\/0\. .* Answer now/),
    ]);
    const [bare] = gate.tools([{ ...made, errorFunction: null }] as const);
    const outcome = await outcomeOf(gate.run(() => outcomeOf(bare.invoke({}, '{}'))));
    expect(outcome).toMatchObject({ status: 'rejected', error: { code: 'step-budget' } });
  });

  it('are wrapped once, and copies of them are known', () => {
    const gate = gateOf();
    const [search] = gate.tools([tool({ name: 'search', execute: () => 'found' })]);
    const copy = { ...search, type: 'function' as const, name: 'web.search' };
    expect(gate.tools([copy])[0]).toBe(copy);
    const made = gate.tool(tool)({ name: 'search', execute: () => 'found' });
    expect(gate.tools([made])[0]).toBe(made);
  });

  it('of the provider are left as they are', () => {
    const tools = [
      { type: 'hosted_tool', name: 'web_search' },
      { type: 'shell', name: 'shell', environment: { type: 'container_auto' } },
    ];
    expect(gateOf().tools(tools)).toEqual(tools);
    expect(gateOf().tools(tools)[1]).toBe(tools[1]);
  });

  it('as shells and editors throw refusals, which the SDK shows', async () => {
    const gate = gateOf(2);
    class Shell {
      readonly #ran: unknown[] = [];
      run(action: unknown) {
        this.#ran.push(action);
        return this.#ran;
      }
    }
    const editor = { createFile: () => 'created', updateFile: () => 'updated', deleteFile: () => 'deleted' };
    const tools = [
      { type: 'shell', name: 'shell', shell: new Shell() },
      { type: 'apply_patch', name: 'apply_patch', editor },
    ] as const;
    const [shell, patch] = gate.tools(tools);
    await gate.run(async () => {
      expect(await shell.shell.run({ commands: ['ls'] })).toEqual([{ commands: ['ls'] }]);
      expect(await patch.editor.updateFile()).toBe('updated');
      const { error } = (await outcomeOf(Promise.resolve(patch.editor.deleteFile()))) as { error: Error };
      expect(error.message).toMatch(/^Step budget exhausted: 2\/2\. /);
    });
  });

  it.each([
    [null, 'tools must be an array of tools, got null'],
    [[1], 'tools[0] must be a tool, got 1'],
    [
      [{ type: 'computer', name: 'computer', computer: {} }],
      'tools[0] must be a function tool, a shell or an editor',
    ],
    [
      [{ ...tool({ execute: () => 1 }), on: () => 1 }],
      'tools[0] must be made by gate.agent(agent).asTool(…)',
    ],
  ])('are no %j', (tools, message) => {
    expect(() => gateOf().tools(tools as never)).toThrow(message);
  });
});

describe('MCP servers', () => {
  it('are called when their tools are admitted, in both ways, and refuse in results', async () => {
    const gate = gateOf(1);
    const server = gate.mcpServer({
      name: 'files',
      callTool: async (name: string, args: object) => [name, args],
      callToolResult: async (_: string, args: { broken?: boolean }) => ({
        isError: args.broken,
        content: [],
      }),
    });
    expect(gate.mcpServer(server)).toBe(server);
    await gate.run(async () => {
      expect(await server.callToolResult('read', { broken: true })).toEqual({ isError: true, content: [] });
      expect(await server.callTool('read', { n: 1 })).toEqual(['read', { n: 1 }]);
      const text = expect.stringMatching(/^Step budget exhausted: 1\/1\. /);
      expect(await server.callTool('read', {})).toEqual([{ type: 'text', text }]);
      expect(await server.callToolResult('read', {})).toEqual({
        content: [{ type: 'text', text }],
        isError: true,
      });
    });
    expect(ended()).toEqual([false, true]);
  });

  it('throw what they throw, and may have nothing to say', async () => {
    const gate = gateOf();
    const server = gate.mcpServer({
      name: 'files',
      callTool: async (name: string): Promise<unknown> => {
        if (name === 'read') throw new Error('gone');
        return null;
      },
    });
    await gate.run(async () => {
      expect(await outcomeOf(server.callTool('read'))).toMatchObject({ error: { message: 'gone' } });
      expect(await server.callTool('write')).toBe(null);
    });
    expect(ended()).toEqual([false, true]);
  });

  it.each([[null], [{ name: 'files' }]])('are not %j', (server) => {
    expect(() => gateOf().mcpServer(server as never)).toThrow('server must be an MCP server');
  });
});

describe('what invokes agents', () => {
  const agent = { name: 'main', tools: [], handoffs: [], mcpServers: [] };

  it('is handed the signal of the run in place of that of the caller', async () => {
    const gate = gateOf();
    const caller = new AbortController();
    const run = gate.agent(
      async (_: object, __: string, options?: { signal: AbortSignal; maxTurns: number }) => {
        caller.abort(new Error('gone'));
        return [options?.maxTurns, options?.signal.reason];
      },
    );
    const outcome = await outcomeOf(run(agent, 'Go', { signal: caller.signal, maxTurns: 5 }));
    expect(outcome).toMatchObject({ error: { message: 'gone' } });
    expect(await run(agent, 'Go')).toEqual([undefined, undefined]);
  });

  it.each([[null], [1], [{ tools: [] }]])('is not %j', (invoker) => {
    expect(() => gateOf().agent(invoker as never)).toThrow(
      'agent must be the function run, a Runner or an Agent',
    );
  });

  it('may be a runner, which keeps what it has besides', async () => {
    class Runner {
      readonly #name = 'mine';
      readonly config = {};
      async run(_: object, input: string, options?: { signal: AbortSignal }) {
        return [this.#name, input, options?.signal.aborted];
      }
    }
    const gate = gateOf();
    const runner = new Runner();
    const supervised = gate.agent(runner);
    expect(await supervised.run(agent, 'Go')).toEqual(['mine', 'Go', false]);
    expect(supervised.config).toBe(runner.config);
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: null });
  });

  it.each([[undefined], [{ name: 'main' }]])('rejects what is no agent: %j', async (given) => {
    const run = gateOf().agent(async (_: object, __: string) => 'done');
    expect(await outcomeOf(run(given as never, 'Go'))).toMatchObject({
      error: { message: expect.stringContaining('agent must be an Agent, got') },
    });
  });

  it('rejects, and does not throw, when something is not under enforcement', async () => {
    const gate = gateOf();
    const run = gate.agent(async (_: object, __: string) => 'done');
    const made = tool({ name: 'search', execute: () => 'found' });
    const files = { name: 'files', callTool: async () => 1 };
    const inner = { ...agent, name: 'inner', tools: [made], capabilities: [{}] };
    const faulty = {
      ...agent,
      tools: [
        { type: 'computer', name: 'computer', computer: {} },
        { type: 'hosted_tool', name: 'web' },
      ],
      mcpServers: [files, gate.mcpServer(files)],
      handoffs: [{ toolName: 'transfer', agent: inner }],
    };
    const outcome = await outcomeOf(run(faulty, 'Go'));
    expect(outcome).toMatchObject({
      error: {
        code: 'unsupervised-tool',
        message:
          'The agent has tools that are not under enforcement: computer, files (an MCP server), search, the capabilities of inner. ' +
          'Make them with gate.tool(tool), or put them through gate.tools or gate.mcpServer',
      },
    });
    expect(events).toEqual([]);
  });
});

/** An agent that answers what a function returns, as the SDK tells of it: an event if it did, and a text if not. */
class FakeAgent {
  readonly name: string;
  readonly tools: never[] = [];
  readonly handoffs: object[] = [];
  readonly mcpServers: never[] = [];
  readonly #answer: (signal: AbortSignal | undefined) => unknown;
  readonly #listeners: (() => void)[] = [];

  constructor(name: string, answer: (signal: AbortSignal | undefined) => unknown) {
    this.name = name;
    this.#answer = answer;
  }

  on(event: string, listener: () => void): void {
    if (event === 'agent_end') this.#listeners.push(listener);
  }

  end(): void {
    for (const listener of this.#listeners) listener();
  }

  asTool({ toolName }: { toolName: string }) {
    return {
      type: 'function' as const,
      name: toolName,
      on: () => this,
      invoke: async (
        _: object,
        __: string,
        details?: { signal?: AbortSignal; toolCall?: object },
      ): Promise<unknown> => {
        try {
          const answer = await this.#answer(details?.signal);
          if (answer !== '') this.end();
          return answer;
        } catch {
          return 'An error occurred';
        }
      },
    };
  }
}

describe('an agent as a tool', () => {
  const ask = async (gate: Gate, agent: FakeAgent) => {
    const research = gate.agent(agent, { budget: 'own' }).asTool({ toolName: 'research' });
    return await gate.run(() => research.invoke({}, '{"input":"Go"}', DETAILS));
  };

  it('is a call with a child run inside, and remains the very tool that the agent has made', async () => {
    const gate = gateOf();
    expect(await ask(gate, new FakeAgent('researcher', () => 'found'))).toBe('found');
    const [parent, child] = events.filter(({ type }) => type === 'run.started');
    expect(child).toMatchObject({ parent: parent?.run, call: 'c1' });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'call.started', tool: 'research', args: { input: 'Go' } }),
    );
    expect(ended()).toEqual([true]);
  });

  it.each([
    ['that fails', () => Promise.reject(new Error('down')), 'An error occurred'],
    ['that waits for an approval', () => '', ''],
  ])('%s gives what the SDK makes of it, and has failed', async (_, answer, text) => {
    expect(await ask(gateOf(), new FakeAgent('researcher', answer))).toBe(text);
    expect(ended()).toEqual([false]);
  });

  it('has answered when an agent has that it hands over to', async () => {
    const writer = new FakeAgent('writer', () => 'written');
    const researcher = new FakeAgent('researcher', () => {
      writer.end();
      return '';
    });
    researcher.handoffs.push(writer);
    const gate = gateOf();
    await ask(gate, researcher);
    await ask(gate, researcher);
    expect(ended()).toEqual([true, true]);
    // Outside of runs there is nobody to hear it.
    writer.end();
  });

  it('that throws, as the SDK does of what is fatal, throws', async () => {
    const gate = gateOf();
    const agent = new FakeAgent('researcher', () => 'found');
    const broken = Object.assign(agent, {
      asTool: () => ({
        type: 'function',
        name: 'research',
        invoke: () => Promise.reject(new Error('fatal')),
      }),
    });
    expect(await outcomeOf(ask(gate, broken as never))).toMatchObject({ error: { message: 'fatal' } });
  });

  it('whose run is stopped alone says why', async () => {
    const gate = gateOf();
    const agent = new FakeAgent('researcher', () => {
      gate.enforcement.currentRun()?.abort('enough');
      return new Promise(() => {});
    });
    expect(await ask(gate, agent)).toMatch(
      /^An error occurred while running the tool: Run .* was aborted: enough$/,
    );
    expect(ended()).toEqual([false]);
  });
});

describe('results', () => {
  it('that give a stream of Node give one still, and end the run with it', async () => {
    const gate = gateOf();
    for (const objectMode of [true, false]) {
      const result = gate.run(() => ({ toTextStream: () => Readable.from(['one', 'two'], { objectMode }) }));
      const stream = result.toTextStream();
      expect(stream).toBeInstanceOf(Readable);
      expect(stream.readableObjectMode).toBe(objectMode);
      expect(events.at(-1)?.type).toBe('run.started');
      const pieces = await stream.toArray();
      expect(pieces.map(String)).toEqual(['one', 'two']);
      expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: null });
    }
  });

  it('that are streams of Node are aborted when they are destroyed', async () => {
    const gate = gateOf();
    const result = gate.run(() => ({ toTextStream: () => Readable.from(['one', 'two']) }));
    for await (const _ of result.toTextStream()) break;
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', reason: expect.stringContaining('broken off') });
  });
});

import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { createTool } from '@mastra/core/tools';
import { createStep, createWorkflow } from '@mastra/core/workflows';
import { findToolExecutionBlocked } from 'phasegate';
import { type GateOptions, supervise } from 'phasegate/mastra';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Ask, Script } from '../suite/harness.ts';
import { errorOf, read, settled, times, turns, World } from '../suite/world.ts';
import { mastraModel } from './model.ts';

let world: World;

beforeEach(() => {
  world = new World({ maxSteps: 3 });
});

afterEach(() => world.expectSound());

const gateOf = (options?: GateOptions) => supervise(world.enforcement, options);

/** A tool that is not under enforcement, whose bodies are counted. */
function tool(name: string, body: (input: { n: number }) => unknown = () => 'found') {
  return createTool({
    id: name,
    description: name,
    inputSchema: z.object({ n: z.number() }),
    execute: async (input) => {
      world.started.push(name);
      return await body(input);
    },
  });
}

function agentOf(script: Script, parts: object = {}): { agent: Agent; told: () => readonly string[] } {
  const conversation = { turns: 0, told: [] as readonly string[] };
  const model = mastraModel(script, conversation);
  const agent = new Agent({
    id: 'agent',
    name: 'Agent',
    description: 'Goes.',
    instructions: 'Go.',
    model,
    ...parts,
  });
  return { agent, told: () => conversation.told };
}

/** A model that asks for this, and then answers. */
const first =
  (ask: Ask): Script =>
  (turn) =>
    turn === 0 ? [ask] : 'done';

const calls = () => world.of('call.started').map(({ tool: name, call }) => [name, call]);

describe('its own limits', () => {
  it.each([8, 15])('count turns: one step lets all %d calls of it run', async (count) => {
    const { agent } = agentOf(turns(times(count, 'search')), { tools: { search: tool('search') } });
    await agent.generate('Go', { maxSteps: 1 });
    expect(world.started.splice(0)).toHaveLength(count);
  });

  it('do not tell of an abort: it resolves as if all were well, where the gate throws', async () => {
    const run = async (wrap: (agent: Agent) => Agent) => {
      const caller = new AbortController();
      const stop = () => caller.abort(new Error('The user has gone'));
      const { agent } = agentOf(turns(times(1, 'search')), { tools: { search: tool('search', stop) } });
      return await wrap(agent).generate('Go', { abortSignal: caller.signal });
    };
    expect(await run((agent) => agent)).toMatchObject({ text: '', error: undefined });
    world.started.splice(0);
    expect(await errorOf(run((agent) => gateOf().agent(agent)))).toMatchObject({
      message: 'The user has gone',
    });
  });
});

describe('an agent', () => {
  it('has all of its tools under enforcement, also those that have not been through tools()', async () => {
    const { agent, told } = agentOf(turns(times(4, 'search')), { tools: { search: tool('search') } });
    await gateOf().agent(agent).generate('Go');
    expect(world.started).toHaveLength(3);
    expect(told()[3]).toContain('Step budget exhausted: 3/3');
  });

  it('asks once for a call of a tool that asks by itself, under the name that the model knows', async () => {
    const gate = gateOf();
    const { agent } = agentOf(turns(times(2, 'search')), { tools: gate.tools({ search: tool('search') }) });
    await gate.agent(agent).generate('Go');
    expect(calls()).toEqual([
      ['search', 'asked-1'],
      ['search', 'asked-2'],
    ]);
  });

  it('has tools under enforcement that an invocation brings along, and those of prepareStep', async () => {
    const { agent } = agentOf(turns([...times(3, 'brought'), ...times(3, 'prepared')]));
    await gateOf()
      .agent(agent)
      .generate('Go', {
        toolsets: { more: { brought: tool('brought') } },
        prepareStep: ({ tools }) => ({ tools: { ...tools, prepared: tool('prepared') } }),
      });
    expect(world.started).toEqual(['brought', 'brought', 'brought']);
    expect(world.of('call.refused').map(({ tool: name }) => name)).toEqual([
      'prepared',
      'prepared',
      'prepared',
    ]);
  });

  it('keeps its default options and its hooks', async () => {
    const seen: string[] = [];
    const { agent } = agentOf(turns(times(1, 'search')), {
      tools: { search: tool('search') },
      hooks: { beforeToolCall: ({ toolName }: { toolName: string }) => void seen.push(`before ${toolName}`) },
      defaultOptions: {
        prepareStep: ({ stepNumber }: { stepNumber: number }) => void seen.push(`step ${stepNumber}`),
      },
    });
    await gateOf()
      .agent(agent)
      .generate('Go', { hooks: { afterToolCall: () => void seen.push('after') } });
    expect(seen).toEqual(['step 0', 'before search', 'after', 'step 1']);
  });

  it('is for the rest as it was', () => {
    const { agent } = agentOf(turns());
    const supervised = gateOf().agent(agent);
    expect(supervised).toBeInstanceOf(Agent);
    expect([supervised.id, supervised.getDescription()]).toEqual(['agent', 'Goes.']);
  });

  it.each(['network', 'generateLegacy', 'sendMessage'] as const)('cannot be asked with %s', async (name) => {
    const { agent } = agentOf(turns());
    const invoke = async () =>
      await (gateOf().agent(agent)[name] as (...args: unknown[]) => unknown)('Go', {});
    expect(await errorOf(invoke())).toMatchObject({ code: 'unsupervised-method' });
  });

  it('has no way to be asked that is neither under enforcement nor closed', () => {
    const ways = Object.getOwnPropertyNames(Agent.prototype).filter((name) =>
      /^(generate|stream|resume|network|approve|decline|recover|prepare|send[A-Z]|queueMessage$)/.test(name),
    );
    const supervised = gateOf().agent(agentOf(turns()).agent) as unknown as Record<string, unknown>;
    // Neither of them asks a model for tool calls.
    const harmless = ['generateTitleFromUserMessage', 'prepareModels'];
    const own = (name: string) => String(supervised[name]).includes('[native code]');
    expect(ways.filter((name) => own(name)).sort()).toEqual(harmless);
    expect(ways.length).toBeGreaterThan(20);
  });
});

describe('an agent that delegates', () => {
  const family = (method: 'generate' | 'stream') => {
    const gate = gateOf();
    const inner = agentOf(turns(times(1, 'search'), times(2, 'search')), {
      tools: gate.tools({ search: tool('search') }),
    });
    const outer = agentOf(first({ tool: 'agent-inner', args: { prompt: 'Search' } }), {
      agents: { inner: gate.agent(inner.agent) },
    });
    const ask = gate.agent(outer.agent);
    return method === 'generate'
      ? ask.generate('Go')
      : ask.stream('Go').then(({ fullStream }) => read(fullStream));
  };

  it.each(['generate', 'stream'] as const)(
    'has its agents as child runs, which pay from its budget (%s)',
    async (method) => {
      await family(method);
      const [parent, child] = world.of('run.started');
      expect(child).toMatchObject({ parent: parent?.run, call: 'asked-1' });
      // The delegation is in flight itself, so that two of three calls are left.
      expect(world.started).toEqual(['search', 'search']);
      expect(world.of('call.refused').map(({ message }) => message)).toEqual([
        'Step budget exhausted: 2/3 (parent run) (1 call in flight)',
      ]);
    },
  );

  it('to one that is not under enforcement is not taken', async () => {
    const { agent } = agentOf(turns(), { agents: { inner: agentOf(turns()).agent } });
    expect(await errorOf(gateOf().agent(agent).generate('Go'))).toMatchObject({ code: 'unsupervised-agent' });
    expect(world.of('run.started')).toEqual([]);
  });
});

describe('a workflow', () => {
  const searching = (search: ReturnType<typeof tool>) => {
    const step = createStep({
      id: 'twice',
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ found: z.array(z.unknown()) }),
      execute: async ({ inputData }) => ({
        found: [
          await search.execute?.(inputData, {} as never),
          await search.execute?.(inputData, {} as never),
        ],
      }),
    });
    return createWorkflow({
      id: 'searching',
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ found: z.array(z.unknown()) }),
    })
      .then(step)
      .commit();
  };

  it('that an agent calls is a call, and the tools of its steps are nested in it', async () => {
    const gate = gateOf();
    const { search } = gate.tools({ search: tool('search') });
    const { agent, told } = agentOf(first({ tool: 'workflow-searching', args: { inputData: { n: 1 } } }), {
      workflows: { searching: searching(search) },
    });
    await gate.agent(agent).generate('Go');
    expect(world.of('call.started')).toMatchObject([
      { tool: 'workflow-searching', call: 'asked-1', parent: null },
      { tool: 'search', parent: 'asked-1' },
      { tool: 'search', parent: 'asked-1' },
    ]);
    expect(told()[0]).toContain('found');
  });

  it('is a run by itself, in which tools as steps are calls', async () => {
    const gate = gateOf();
    const n = z.object({ n: z.number() });
    const { count } = gate.tools({
      count: createTool({
        id: 'count',
        description: 'Counts.',
        inputSchema: n,
        outputSchema: n,
        execute: async (input) => {
          world.started.push('count');
          return { n: input.n + 1 };
        },
      }),
    });
    const counting = createWorkflow({ id: 'counting', inputSchema: n, outputSchema: n })
      .dountil(createStep(count), async () => false)
      .commit();
    const result = await gate.run(async () => {
      const run = await counting.createRun();
      return await run.start({ inputData: { n: 1 } });
    });
    expect(result).toMatchObject({
      status: 'failed',
      error: { message: expect.stringContaining('Step budget exhausted: 3/3') },
    });
    expect(world.started).toHaveLength(3);
  });
});

describe('a call', () => {
  it('whose input does not fit has failed, and is told as Mastra tells it', async () => {
    const gate = gateOf();
    const { agent, told } = agentOf(first({ tool: 'search', args: { n: 'one' } }), {
      tools: gate.tools({ search: tool('search') }),
    });
    await gate.agent(agent).generate('Go');
    expect(told()[0]).toContain('Tool input validation failed');
    expect(world.started).toEqual([]);
    expect(world.of('call.ended')).toMatchObject([{ ok: false }]);
  });

  it('has its input checked, and changed, no more often than without the gate', async () => {
    const inputs: number[] = [];
    const search = createTool({
      id: 'search',
      description: 'Searches.',
      inputSchema: z.object({ n: z.number().transform((n) => n + 1) }),
      execute: async ({ n }) => {
        inputs.push(n);
        return 'found';
      },
    });
    const gate = gateOf();
    await agentOf(turns(times(1, 'search')), { tools: { search } }).agent.generate('Go');
    const { agent } = agentOf(turns(times(1, 'search')), { tools: gate.tools({ search }) });
    await gate.agent(agent).generate('Go');
    expect(inputs).toHaveLength(2);
    expect(inputs[1]).toBe(inputs[0]);
  });

  it('that begins when its run has ended meanwhile does not begin', async () => {
    const gate = gateOf({ unreadMs: 50 });
    const { agent } = agentOf(turns(times(1, 'search')), {
      tools: gate.tools({ search: tool('search') }),
      hooks: { beforeToolCall: () => new Promise<void>((resolve) => setTimeout(resolve, 150)) },
    });
    await gate.agent(agent).stream('Go');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(world.started).toEqual([]);
    expect(world.of('call.refused')).toMatchObject([{ code: 'run-completed' }]);
  });
});

describe('an agent that waits for an approval', () => {
  const storage = () => new InMemoryStore();
  const approving = (gate: ReturnType<typeof gateOf>, store: InMemoryStore, tools: object) => {
    const { agent } = agentOf(turns(times(1, 'search')), { id: 'agent', tools });
    const mastra = new Mastra({ agents: { agent }, storage: store, logger: false });
    return gate.agent(mastra.getAgent('agent'));
  };
  const wanted = () => {
    const search = tool('search');
    search.requireApproval = true;
    return search;
  };

  const resumed = async (again: boolean, wrap: (gate: ReturnType<typeof gateOf>) => object) => {
    const store = storage();
    const gate = gateOf();
    const agent = approving(gate, store, wrap(gate));
    const first = await agent.stream('Go');
    await read(first.fullStream);
    expect(world.started).toEqual([]);
    const later = again ? approving(gate, store, wrap(gate)) : agent;
    const second = await later.approveToolCall({ runId: first.runId, toolCallId: 'asked-1' });
    return JSON.stringify(await read(second.fullStream));
  };

  it('goes on in a run of its own', async () => {
    expect(await resumed(false, () => ({ search: wanted() }))).toContain('done');
    expect(world.started).toEqual(['search']);
    expect(world.ended.map(({ stepCount }) => stepCount)).toEqual([0, 1]);
  });

  it('goes on in another process with tools that have been through tools()', async () => {
    expect(await resumed(true, (gate) => gate.tools({ search: wanted() }))).toContain('done');
    expect(world.started).toEqual(['search']);
    expect(world.ended.map(({ stepCount }) => stepCount)).toEqual([0, 1]);
  });

  it('does not run, in another process, a tool that nobody would have asked for', async () => {
    expect(await resumed(true, () => ({ search: wanted() }))).toContain('is not under enforcement');
    expect(world.started).toEqual([]);
  });
});

it('a turn is told from the next by what Mastra prepares, so that refusals in a row are counted', async () => {
  let latest = 0;
  const script: Script = (turn) => {
    latest = turn;
    return times(8, 'search');
  };
  const { agent } = agentOf(script, { tools: { search: tool('search') } });
  const error = await errorOf(gateOf({ maxBlocked: 1 }).agent(agent).generate('Go', { maxSteps: 20 }));
  expect(findToolExecutionBlocked(error)).toMatchObject({ code: 'step-budget' });
  await settled();
  expect(world.started).toHaveLength(3);
  // Five were refused in the first turn, which are one, and the next aborts.
  expect(latest).toBe(1);
});

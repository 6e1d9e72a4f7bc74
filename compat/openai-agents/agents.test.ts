import { Agent, type MCPServer, type ModelRequest, Runner, run, shellTool } from '@openai/agents';
import { ToolExecutionBlocked } from 'phasegate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorOf, gate as handle, settled, times, turns } from '../suite/world.ts';
import { modelOf } from './model.ts';
import { type AnyAgent, ask, Stage } from './stage.ts';

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

afterEach(() => stage.world.expectSound());

describe('an agent as a tool', () => {
  const researcher = (more: object = {}) =>
    stage.other('researcher', turns(times(1, 'search'), times(1, 'search')), {
      tools: [stage.tool('search')],
      ...more,
    });
  const asTool = (agent: AnyAgent, options: object = {}) =>
    stage.gate.agent(agent).asTool({ toolName: 'research', toolDescription: 'Researches.', ...options });

  it('is a call, and inside of it a child run, which pays from the same budget', async () => {
    const agent = stage.agent(turns([ask('research')]), { tools: [asTool(researcher())] });
    await stage.run(agent, 'Go');
    const [parent, child] = stage.world.of('run.started');
    expect(child).toMatchObject({ parent: parent?.run, call: 'asked-1' });
    expect(stage.world.of('call.started').map(({ tool, run: of }) => [tool, of])).toEqual([
      ['research', parent?.run],
      ['search', child?.run],
      ['search', child?.run],
    ]);
    expect(stage.conversation.told).toEqual(['done']);
    expect(stage.world.ended).toMatchObject([{ stepCount: 2 }, { stepCount: 3 }]);
  });

  it('is refused as other tools are, and then its agent is not asked', async () => {
    const agent = stage.agent(turns(times(3, 'search'), [ask('research')]), {
      tools: [stage.tool('search'), asTool(researcher())],
    });
    await stage.run(agent, 'Go');
    expect(stage.conversation.told[3]).toContain('Step budget exhausted: 3/3');
    expect(stage.world.of('run.started')).toHaveLength(1);
  });

  it('that fails is no step, and the model reads what the SDK says of it', async () => {
    const failing = researcher({
      model: modelOf(() => {
        throw new Error('The model is down');
      }),
    });
    const agent = stage.agent(turns([ask('research')]), { tools: [asTool(failing)] });
    await stage.run(agent, 'Go');
    expect(stage.conversation.told).toEqual(['An error occurred while running the tool. Please try again.']);
    expect(stage.world.of('call.ended')).toMatchObject([{ tool: 'research', ok: false }]);
    expect(stage.world.ended).toMatchObject([{ stepCount: 0 }, { stepCount: 0 }]);
  });

  it('that hands over to another agent has answered when that one has', async () => {
    const writer = stage.other('writer', () => 'written');
    const handing = stage.other('researcher', turns([{ tool: 'transfer_to_writer' }]), {
      handoffs: [writer],
    });
    const agent = stage.agent(turns([ask('research')]), { tools: [asTool(handing)] });
    await stage.run(agent, 'Go');
    expect(stage.conversation.told).toEqual(['written']);
    expect(stage.world.of('call.ended')).toMatchObject([{ tool: 'research', ok: true }]);
  });

  it('that is stopped alone stops its model, and is told of to the model around it, which goes on', async () => {
    const stopped = handle();
    const stuck = researcher({
      model: {
        ...modelOf(() => 'done'),
        getResponse: ({ signal }: ModelRequest) => {
          signal?.addEventListener('abort', () => stopped.open());
          return new Promise(() => {});
        },
      },
    });
    const research = stage.gate
      .agent(stuck, { timeoutMs: 50 })
      .asTool({ toolName: 'research', toolDescription: 'Researches.' });
    const agent = stage.agent(turns([ask('research')]), { tools: [research] });
    const { finalOutput } = await stage.run(agent, 'Go');
    expect(finalOutput).toBe('done');
    await stopped.passed;
    expect(stage.conversation.told[0]).toMatch(
      /^An error occurred while running the tool: .*timeout after 50 ms/,
    );
    expect(stage.world.ended.map(({ reason }) => reason)).toEqual(['timeout after 50 ms', null]);
    expect(stage.world.of('call.ended')).toMatchObject([{ tool: 'research', ok: false }]);
  });

  it('that would nest too deep is told of to the model', async () => {
    const research = stage.gate
      .agent(researcher(), { maxDepth: 0 })
      .asTool({ toolName: 'research', toolDescription: 'Researches.' });
    await stage.run(stage.agent(turns([ask('research')]), { tools: [research] }), 'Go');
    expect(stage.conversation.told[0]).toContain('Runs nest deeper than 0');
    expect(stage.world.of('call.ended')).toMatchObject([{ tool: 'research', ok: false }]);
  });

  it('ends with the agent around it', async () => {
    const running = handle();
    const caller = new AbortController();
    const search = stage.tool('search', () => {
      running.open();
      return new Promise(() => {});
    });
    const agent = stage.agent(turns([ask('research')]), { tools: [asTool(researcher({ tools: [search] }))] });
    const asked = errorOf(stage.run(agent, 'Go', { signal: caller.signal }));
    await running.passed;
    caller.abort(new Error('Enough'));
    expect(await asked).toMatchObject({ message: 'Enough' });
    expect(stage.world.ended.map(({ reason }) => reason)).toEqual(['Enough', 'Enough']);
  });

  it('with a limit of its own tells its caller of the refusal that it ended with', async () => {
    stage = new Stage({ onBlocked: 'abort' });
    const asking = researcher();
    asking.model = stage.other('asking', () => times(1, 'search')).model;
    const agent = stage.agent(turns([ask('research')]), { tools: [asTool(asking)] });
    await stage.run(agent, 'Go');
    expect(stage.conversation.told[0]).toContain('Step budget exhausted: 2/3 (parent run)');
  });

  it('tells of what it does while it does it', async () => {
    const seen: string[] = [];
    const research = asTool(researcher()).on('*', ({ event }) => void seen.push(event.type));
    await stage.run(stage.agent(turns([ask('research')]), { tools: [research] }), 'Go');
    expect(seen).toContain('run_item_stream_event');
    expect(stage.world.of('call.ended').at(-1)).toMatchObject({ tool: 'research', ok: true });
  });

  it('by asTool of the agent itself is not taken', () => {
    const made = researcher().asTool({ toolName: 'research', toolDescription: 'Researches.' });
    expect(() => stage.gate.tools([made])).toThrow('must be made by gate.agent(agent).asTool(…)');
  });
});

describe('a handoff', () => {
  it('is in the same run, and pays from the same budget', async () => {
    const tools = [stage.tool('search')];
    const other = stage.other('other', turns([], times(2, 'search')), { tools });
    const agent = stage.agent(turns(times(2, 'search'), [{ tool: 'transfer_to_other' }]), {
      tools,
      handoffs: [other],
    });
    const script = (_: number, told: readonly string[]) => (told.length < 5 ? times(2, 'search') : 'done');
    other.model = stage.other('scripted', script).model;
    const { finalOutput, lastAgent } = await stage.run(agent, 'Go');
    expect([finalOutput, lastAgent?.name]).toEqual(['done', 'other']);
    expect(stage.world.started).toHaveLength(3);
    expect(stage.world.of('run.started')).toHaveLength(1);
    expect(stage.world.of('call.refused')).toHaveLength(1);
  });
});

describe('an agent with what is not under enforcement is not run', () => {
  const cases: [string, () => object][] = [
    ['search', () => ({ tools: [stage.made('search')] })],
    ['shell', () => ({ tools: [shellTool({ shell: { run: async () => ({ output: [] }) } })] })],
    ['files (an MCP server)', () => ({ mcpServers: [server()] })],
    ['search', () => ({ handoffs: [stage.other('other', () => 'done', { tools: [stage.made('search')] })] })],
    [
      'search',
      () => {
        const inner = stage.other('inner', () => 'done', { tools: [stage.made('search')] });
        return { tools: [stage.gate.agent(inner).asTool({ toolName: 'inner', toolDescription: 'Inner.' })] };
      },
    ],
  ];

  it.each(cases)('%s', async (name, more) => {
    const agent = stage.agent(() => 'done', more());
    const error = await errorOf(stage.run(agent, 'Go'));
    expect(error).toMatchObject({ code: 'unsupervised-tool' });
    expect(error).toMatchObject({ message: expect.stringContaining(`not under enforcement: ${name}. Make`) });
    expect(stage.conversation.turns).toBe(0);
  });

  it('as a tool either, of code that runs an agent by itself', async () => {
    const inner = stage.other('inner', () => 'done', { tools: [stage.made('search')] });
    const research = stage.gate.agent(inner).asTool({ toolName: 'inner', toolDescription: 'Inner.' });
    const agent = stage.agent(turns([ask('inner')]), { tools: [research] });
    const error = await errorOf(stage.gate.run(() => run(agent, 'Go')));
    expect(error).toMatchObject({ error: { code: 'unsupervised-tool' } });
  });
});

/** What stands in for a server: it echoes. */
function server(): MCPServer {
  return {
    name: 'files',
    cacheToolsList: false,
    connect: async () => {},
    close: async () => {},
    invalidateToolsCache: async () => {},
    listTools: async () => [
      {
        name: 'read',
        description: 'Reads a file.',
        inputSchema: { type: 'object', properties: {}, required: [], additionalProperties: false },
      },
    ],
    callTool: async (name, args) => {
      stage.world.started.push(name);
      const content = [{ type: 'text', text: `read ${JSON.stringify(args)}` }];
      return Object.assign(content, args?.['n'] === 2 && { isError: true });
    },
  } as MCPServer;
}

describe('an MCP server', () => {
  it('is asked when its tools are admitted, and an error that it answers is no step', async () => {
    const mcpServers = [stage.gate.mcpServer(server())];
    const agent = stage.agent(turns(times(2, 'read'), times(3, 'read')), { mcpServers });
    await stage.run(agent, 'Go');
    expect(stage.world.started).toHaveLength(5);
    expect(stage.world.of('call.ended').map(({ ok }) => ok)).toEqual([true, false, true, false, true]);
    stage.world.started.length = 0;
    const other = stage.agent(turns(times(1, 'read'), times(4, 'read').slice(2), times(1, 'read')), {
      mcpServers,
    });
    await stage.run(other, 'Go');
    expect(stage.conversation.told[3]).toContain('Step budget exhausted: 3/3');
    expect(stage.world.started).toHaveLength(3);
    expect(stage.gate.mcpServer(mcpServers[0] as MCPServer)).toBe(mcpServers[0]);
  });
});

describe('a runner', () => {
  it('is for the rest as it was', async () => {
    const runner = new Runner({ workflowName: 'mine' });
    const supervised = stage.gate.agent(runner);
    expect(supervised).toBeInstanceOf(Runner);
    expect(supervised.config).toBe(runner.config);
    let ended = 0;
    supervised.on('agent_end', () => {
      ended += 1;
    });
    await supervised.run(
      stage.agent(() => 'done'),
      'Go',
    );
    expect(ended).toBe(1);
  });

  it('takes an agent that went through the gate, which the SDK knows by identity', async () => {
    const agent = stage.agent(() => 'done');
    const supervised = stage.gate.agent(agent);
    expect(supervised).toBeInstanceOf(Agent);
    expect((await stage.run(supervised, 'Go')).lastAgent).toBe(agent);
  });

  it('tells of a refusal as it is, also beside siblings that run', async () => {
    stage = new Stage({ onBlocked: 'abort' });
    const agent = stage.agent(turns(times(5, 'search')), { tools: [stage.tool('search', () => settled())] });
    expect(await errorOf(stage.run(agent, 'Go'))).toBeInstanceOf(ToolExecutionBlocked);
    expect(stage.world.started).toHaveLength(3);
  });
});

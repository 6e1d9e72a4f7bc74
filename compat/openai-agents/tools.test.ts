import { applyPatchTool, computerTool, Runner, run, shellTool, tool, toolNamespace } from '@openai/agents';
import { findToolExecutionBlocked, ToolExecutionBlocked } from 'phasegate';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Ask } from '../suite/harness.ts';
import { errorOf, gate as handle, settled, times, turns } from '../suite/world.ts';
import { type AnyTool, Stage } from './stage.ts';

let stage: Stage;

beforeEach(() => {
  stage = new Stage();
});

describe('the SDK by itself', () => {
  it.each([1, 2])('counts turns: a limit of %d lets all eight calls of one run', async (maxTurns) => {
    let started = 0;
    const search = stage.made('search', () => {
      started += 1;
    });
    const agent = stage.agent(turns(times(8, 'search')), { tools: [search] });
    await run(agent, 'Go', { maxTurns }).catch(() => undefined);
    expect(started).toBe(8);
  });

  it('makes a result of what a body throws, and does not say what it was', async () => {
    const search = stage.made('search', () => {
      throw new Error('The index is gone');
    });
    expect(await search.invoke({} as never, '{}')).toBe(
      'An error occurred while running the tool. Please try again.',
    );
  });

  it('tells of the end of an agent only if all went well', async () => {
    const failing = stage.agent(() => {
      throw new Error('The model is down');
    });
    let ended = 0;
    failing.on('agent_end', () => {
      ended += 1;
    });
    await errorOf(run(failing, 'Go'));
    expect(ended).toBe(0);
  });

  it('waits for a body that does not stop, when the caller aborts; under enforcement the caller does not', async () => {
    const ask = (invoke: typeof run, search: AnyTool) => {
      const caller = new AbortController();
      const agent = stage.agent(turns(times(1, 'search')), { tools: [search] });
      const asked = invoke(agent, 'Go', { signal: caller.signal });
      return settled().then(() => {
        caller.abort(new Error('Enough'));
        return asked;
      });
    };
    const stuck = () => new Promise(() => {});
    let over = false;
    const end = () => {
      over = true;
    };
    ask(run, stage.made('search', stuck)).then(end, end);
    expect(await errorOf(ask(stage.run, stage.tool('search', stuck)))).toMatchObject({ message: 'Enough' });
    await settled();
    expect(over).toBe(false);
  });
});

describe('a tool', () => {
  afterEach(() => stage.world.expectSound());

  it('that throws has failed, though the model reads what the SDK makes of it', async () => {
    const search = stage.tool('search', () => {
      throw new Error('The index is gone');
    });
    await stage.run(stage.agent(turns(times(1, 'search')), { tools: [search] }), 'Go');
    expect(stage.conversation.told).toEqual(['An error occurred while running the tool. Please try again.']);
    expect(stage.world.of('call.ended')).toMatchObject([{ ok: false }]);
    expect(stage.world.ended).toMatchObject([{ stepCount: 0 }]);
  });

  it('is refused in words, whatever its errorFunction makes of errors', async () => {
    const search = stage.tool('search', undefined, { errorFunction: () => 'Sorry.' });
    const broken = stage.tool('broken', undefined, { errorFunction: null });
    const script = turns(times(3, 'search'), [...times(1, 'search'), { tool: 'broken' }]);
    await stage.run(stage.agent(script, { tools: [search, broken] }), 'Go');
    expect(stage.conversation.told.slice(3)).toEqual([
      expect.stringMatching(/^Step budget exhausted: 3\/3\. .* Answer now with what you have\.$/),
      expect.stringMatching(/^Step budget exhausted: 3\/3\. .* Answer now with what you have\.$/),
    ]);
  });

  const outputSchema = z.object({ hits: z.number() });

  it('with an output schema is refused in what its errorFunction makes of the refusal', async () => {
    let caught: unknown;
    const search = stage.tool('search', () => ({ hits: 1 }), {
      outputSchema,
      errorFunction: (_: unknown, error: unknown) => {
        caught = error;
        return { hits: 0 };
      },
    });
    await stage.run(stage.agent(turns(times(4, 'search')), { tools: [search] }), 'Go');
    expect(stage.conversation.told[3]).toContain('"hits":0');
    expect(caught).toMatchObject({ message: expect.stringContaining('Answer now with what you have') });
    expect(findToolExecutionBlocked(caught)).toMatchObject({ code: 'step-budget' });
  });

  it('with an output schema, and nothing to make a result of errors, aborts when it is refused', async () => {
    const search = stage.tool('search', () => ({ hits: 1 }), { outputSchema });
    const agent = stage.agent(turns(times(4, 'search')), { tools: [search] });
    const error = await errorOf(stage.run(agent, 'Go'));
    expect(error).toBeInstanceOf(ToolExecutionBlocked);
    expect(stage.world.ended).toMatchObject([{ reason: 'Step budget exhausted: 3/3', stepCount: 3 }]);
  });

  it('that ends its agent ends it with a refusal, too', async () => {
    const agent = stage.agent(turns(times(1, 'search')), {
      tools: [stage.tool('search')],
      toolUseBehavior: 'stop_on_first_tool',
    });
    const { finalOutput } = await stage.gate.run(async ({ signal }) => {
      for (let n = 0; n < 3; n += 1) await run(agent, 'Go', { signal });
      return await run(agent, 'Go', { signal });
    });
    expect(finalOutput).toContain('Step budget exhausted: 3/3');
  });

  it('that its guardrail rejects, or whose input cannot be read, is no call', async () => {
    const search = stage.tool('search', undefined, {
      inputGuardrails: [
        { name: 'no', run: async () => ({ behavior: { type: 'rejectContent', message: 'Not that.' } }) },
      ],
    });
    const read = stage.gate.tool(tool)({
      name: 'read',
      description: 'Reads a page.',
      parameters: z.object({ page: z.number() }),
      execute: ({ page }) => `page ${page}`,
    });
    const script = turns([{ tool: 'search' }, { tool: 'read', args: { page: 'one' } }] as Ask[]);
    await stage.run(stage.agent(script, { tools: [search, read] }), 'Go');
    expect(stage.conversation.told[0]).toBe('Not that.');
    expect(stage.world.of('call.started')).toEqual([]);
    expect(stage.world.of('call.refused')).toEqual([]);
  });

  it('for which the SDK no longer waits does not start when its turn comes', async () => {
    const found = handle();
    const search = stage.tool('search', () => found.passed, { timeoutMs: 50 });
    const agent = stage.agent(
      (turn) => {
        // It has been told that both took too long: one is in flight, and one in line.
        if (turn === 1) found.open();
        return turn === 2 ? 'done' : times(2 - turn, turn === 0 ? 'search' : 'read');
      },
      { tools: [search, stage.tool('read')] },
    );
    await stage.run(agent, 'Go');
    expect(stage.conversation.told.slice(0, 2)).toEqual(Array(2).fill(expect.stringContaining('timed out')));
    expect(stage.world.started).toEqual(['search', 'read']);
  });

  it('in a namespace is under enforcement, and so is one whose name comes from its function', () => {
    const { name: _, ...options } = stage.options('search');
    const search = stage.gate.tool(tool)({
      ...options,
      execute: function found() {
        return 'found';
      },
    });
    expect(search.name).toBe('found');
    const namespaced = toolNamespace({ name: 'web', description: 'The web.', tools: [search] });
    expect(stage.gate.tools(namespaced)[0]).toBe(namespaced[0]);
  });

  it('outside of a run is refused in words', async () => {
    const agent = stage.agent(turns(times(1, 'search')), { tools: [stage.tool('search')] });
    await new Runner().run(agent, 'Go');
    expect(stage.conversation.told[0]).toContain('Cannot call search: no agent run is active');
    expect(stage.world.started).toEqual([]);
  });
});

describe('a tool that is made already', () => {
  afterEach(() => stage.world.expectSound());

  it('asks before it runs, and what fails inside of it counts as a step', async () => {
    const [search] = stage.gate.tools([
      stage.made('search', () => {
        throw new Error('The index is gone');
      }),
    ]);
    const agent = stage.agent(turns(times(2, 'search'), times(2, 'search')), { tools: [search] as never });
    await stage.run(agent, 'Go');
    expect(stage.world.started).toHaveLength(3);
    expect(stage.conversation.told[3]).toContain('Step budget exhausted: 3/3');
    expect(stage.world.ended).toMatchObject([{ stepCount: 3 }]);
  });

  it('keeps the parameters, the approvals and the limits that it has', () => {
    const made = stage.made('search');
    const [search] = stage.gate.tools([made]);
    expect(search).toEqual({ ...made, invoke: expect.any(Function) });
    expect(stage.gate.tools([search as never])[0]).toBe(search);
  });

  it('of the provider is left as it is', () => {
    const hosted = { type: 'hosted_tool', name: 'web_search' } as const;
    expect(stage.gate.tools([hosted])[0]).toBe(hosted);
  });

  it('is no computer', () => {
    const computer = computerTool({ computer: { screenshot: async () => '' } as never });
    expect(() => stage.gate.tools([computer])).toThrow(
      'tools[0] must be a function tool, a shell or an editor',
    );
  });

  it('is a shell whose commands are calls, or an editor whose edits are', async () => {
    const commands: unknown[] = [];
    const shell = shellTool({
      shell: {
        run: async ({ commands: run }) => {
          commands.push(...run);
          return { output: [] };
        },
      },
    });
    const edits: string[] = [];
    const edit = async ({ path }: { path: string }) => void edits.push(path);
    const editor = applyPatchTool({ editor: { createFile: edit, updateFile: edit, deleteFile: edit } });
    const [supervisedShell, supervisedEditor] = stage.gate.tools([shell, editor] as const);
    await stage.gate.run(async () => {
      await supervisedShell.shell?.run({ commands: ['ls'] });
      await supervisedEditor.editor.deleteFile({ type: 'delete_file', path: 'a' });
      await supervisedEditor.editor.createFile({ type: 'create_file', path: 'b', diff: '' });
      const error = await errorOf(supervisedShell.shell?.run({ commands: ['rm'] }) as Promise<unknown>);
      expect(error).toMatchObject({ message: expect.stringContaining('Step budget exhausted: 3/3') });
    });
    expect({ commands, edits }).toEqual({ commands: ['ls'], edits: ['a', 'b'] });
    expect(stage.world.of('call.started').map(({ tool: name }) => name)).toEqual([
      'shell',
      'apply_patch',
      'apply_patch',
    ]);
    expect(stage.gate.tools([supervisedShell])[0]).toBe(supervisedShell);
  });
});

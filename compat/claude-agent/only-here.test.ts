import * as claude from '@anthropic-ai/claude-agent-sdk';
import { type GateOptions, supervise } from 'phasegate/claude-agent';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Script } from '../suite/harness.ts';
import { errorOf, gate as handle, read, settled, times, turns, World } from '../suite/world.ts';
import { type Conversation, type Request, serveModel } from './api.ts';
import { answerIn, optionsFor, reasonToSkip } from './claude.ts';

const reason = await reasonToSkip();

let world: World;
let conversation: Conversation;

beforeEach(() => {
  world = new World({ maxSteps: 3 });
  conversation = { turns: 0, told: [] };
});

const gateOf = (options?: GateOptions) => supervise(world.enforcement, options);

const agents = {
  finder: { description: 'Finds.', prompt: 'You are the finder.', tools: ['search', 'mcp__own__search'] },
};
const isFinder = ({ system }: Request) => JSON.stringify(system).includes('You are the finder');

interface Parts {
  /** What the subagent says. */
  readonly finder?: Script | undefined;
  readonly body?: ((args: { n?: number | undefined }) => unknown) | undefined;
}

/** Options for a model, and tools whose bodies are counted and which are not under enforcement themselves. */
async function optionsWith(
  script: Script,
  more: claude.Options = {},
  { finder = script, body = () => 'found' }: Parts = {},
): Promise<claude.Options> {
  const tools = ['search', 'read'].map((name) =>
    claude.tool(name, name, { n: z.number().optional() }, async (args) => {
      world.started.push(name);
      return { content: [{ type: 'text', text: String(await body(args)) }] };
    }),
  );
  return {
    ...optionsFor(await serveModel((request) => (isFinder(request) ? finder : script), conversation)),
    mcpServers: { own: claude.createSdkMcpServer({ name: 'own', tools }) },
    allowedTools: ['mcp__own__search', 'mcp__own__read', 'Agent'],
    ...more,
  };
}

const twice: Script = (turn) => (turn === 0 ? times(2, 'search') : 'done');

describe.skipIf(reason !== undefined)(
  `Claude Code${reason ? `, which does not start here: ${reason}` : ''}`,
  () => {
    describe('by itself', () => {
      const ask = async (script: Script, more: claude.Options) =>
        await answerIn(claude.query({ prompt: 'Go', options: await optionsWith(script, more) }));

      afterEach(() => {
        world.started.length = 0;
      });

      it('counts turns: under a limit of one, all eight calls of it run', async () => {
        await ask((turn) => (turn === 0 ? times(8, 'search') : 'done'), { maxTurns: 1 }).catch(
          () => undefined,
        );
        expect(world.started).toHaveLength(8);
      });

      it('runs a tool whose hook throws, unless the hook says what a failure means', async () => {
        const hooks = [() => Promise.reject(new Error('The hook is broken'))];
        await ask(twice, { hooks: { PreToolUse: [{ hooks }] } });
        expect(world.started).toHaveLength(2);
        await ask(twice, { hooks: { PreToolUse: [{ hooks, onFailure: 'block' }] } });
        expect(world.started).toHaveLength(2);
      });

      it('runs all calls of a turn whose hook says not to continue, and ends then', async () => {
        await ask(twice, { hooks: { PreToolUse: [{ hooks: [async () => ({ continue: false })] }] } });
        expect(world.started).toHaveLength(2);
        expect(conversation.turns).toBe(1);
      });

      it('tells in Stop of normal ends only', async () => {
        const stop = vi.fn(async () => ({}));
        const hooks = { Stop: [{ hooks: [stop] }] };
        await ask(twice, { hooks });
        expect(stop).toHaveBeenCalledTimes(1);
        for await (const _ of claude.query({ prompt: 'Go', options: await optionsWith(twice, { hooks }) }))
          break;
        await ask(twice, { hooks, maxTurns: 1 }).catch(() => undefined);
        expect(stop).toHaveBeenCalledTimes(1);
      });
    });

    describe('under enforcement', () => {
      afterEach(() => world.expectSound());

      const ask = async (options: claude.Options, gateOptions?: GateOptions) =>
        await answerIn(gateOf(gateOptions).agent(claude.query)({ prompt: 'Go', options }));

      it('has all of its tools asked for, also its own, and those that have not been through tools()', async () => {
        const script: Script = (turn) =>
          turn === 0 ? [...times(1, 'search'), { tool: 'Glob', args: { pattern: '*' } }] : 'done';
        await ask(await optionsWith(script, { tools: ['Glob'] }));
        expect(world.of('call.ended')).toMatchObject([
          { tool: 'search', call: 'asked-1', ok: true },
          { tool: 'Glob', call: 'asked-2', ok: true },
        ]);
      });

      it('is told of a refusal as of what a hook denies', async () => {
        await ask(await optionsWith(turns(times(4, 'search'))));
        expect(world.started).toHaveLength(3);
        expect(conversation.told[3]).toContain('Step budget exhausted: 3/3. All tool calls');
      });

      it('asks its other hooks as well, and a call that one of them denies has failed', async () => {
        const others = vi.fn(async (input: claude.HookInput) =>
          input.hook_event_name === 'PreToolUse' && (input.tool_input as { n?: number }).n === 1
            ? {
                hookSpecificOutput: {
                  hookEventName: 'PreToolUse' as const,
                  permissionDecision: 'deny' as const,
                },
              }
            : {},
        );
        await ask(await optionsWith(twice, { hooks: { PreToolUse: [{ hooks: [others] }] } }));
        expect(others).toHaveBeenCalledTimes(2);
        expect(world.started).toEqual(['search']);
        expect(world.of('call.ended')).toMatchObject([
          { call: 'asked-1', ok: false },
          { call: 'asked-2', ok: true },
        ]);
      });

      it('has not run a call for which it had no permission', async () => {
        const canUseTool = async () => ({ behavior: 'deny' as const, message: 'Not today' });
        await ask(await optionsWith(twice, { allowedTools: [], canUseTool }));
        expect(conversation.told).toEqual(['Not today', 'Not today']);
        expect(world.of('call.ended').map(({ ok }) => ok)).toEqual([false, false]);
        expect(world.ended).toMatchObject([{ stepCount: 0 }]);
      });

      it('is for the rest as it was, and close() ends its run', async () => {
        const query = gateOf().agent(claude.query)({ prompt: 'Go', options: await optionsWith(twice) });
        expect(typeof query.interrupt).toBe('function');
        expect(await query.supportedModels()).toBeInstanceOf(Array);
        query.close();
        expect(world.ended).toHaveLength(1);
      });
    });

    describe('subagents', () => {
      afterEach(() => world.expectSound());

      const launch = (background: boolean) => ({
        tool: 'Agent',
        args: { description: 'Find', prompt: 'Find', subagent_type: 'finder', run_in_background: background },
      });
      const family = (outer: Script, finder: Script, body?: Parts['body'], more: claude.Options = {}) =>
        optionsWith(outer, { tools: ['Agent'], agents, ...more }, { finder, body });

      it.each([
        ['in the foreground', false],
        ['in the background', true],
      ])(
        '%s are child runs of the call that started them, and pay from its budget',
        async (_, background) => {
          const options = await family(turns([launch(background)]), turns(times(3, 'search')));
          await read(gateOf().agent(claude.query)({ prompt: 'Go', options }));
          const [parent, child] = world.of('run.started');
          expect(child).toMatchObject({ parent: parent?.run, call: 'asked-1' });
          expect(world.of('call.started').map(({ tool, run }) => [tool, run])).toEqual([
            ['Agent', parent?.run],
            ['search', child?.run],
            ['search', child?.run],
          ]);
          expect(world.of('call.refused')).toMatchObject([{ run: child?.run, code: 'step-budget' }]);
          expect(world.ended.map(({ reason: why }) => why)).toEqual([null, null]);
        },
      );

      it('each have a run of their own', async () => {
        const options = await family(turns([launch(false), launch(true)]), () => 'found');
        await read(gateOf().agent(claude.query)({ prompt: 'Go', options }));
        expect(world.of('run.started').map(({ call }) => call)).toEqual([null, 'asked-1', 'asked-2']);
      });

      it('are stopped when a refusal aborts their run, and the agent around them goes on', async () => {
        world = new World({ maxSteps: 2 });
        const gate = gateOf({ onBlocked: 'abort' });
        const options = await family(turns([launch(false)]), () => times(1, 'search'));
        expect(await answerIn(gate.agent(claude.query)({ prompt: 'Go', options }))).toBe('done');
        expect(world.started).toEqual(['search']);
        expect(world.ended.map(({ reason: why }) => why)).toEqual([
          expect.stringContaining('Step budget exhausted'),
          null,
        ]);
      });

      it('end with the query', async () => {
        const running = handle();
        const caller = new AbortController();
        const never = () => {
          running.open();
          return new Promise(() => {});
        };
        const abortController = caller;
        const outer = turns([launch(false)]);
        const options = await family(outer, turns(times(1, 'search')), never, { abortController });
        const asked = errorOf(answerIn(gateOf().agent(claude.query)({ prompt: 'Go', options })));
        await running.passed;
        caller.abort(new Error('Enough'));
        expect(await asked).toMatchObject({ message: 'Enough' });
        await settled();
        expect(world.ended.map(({ reason: why }) => why)).toEqual(['Enough', 'Enough']);
      });
    });
  },
);

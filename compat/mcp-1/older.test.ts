import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Stage } from '../suite/mcp/stage.ts';
import { INFO, result, textOf } from '../suite/mcp/version.ts';
import { version } from './version.ts';

/** What version 1 alone has: `tool`, and tools that make tasks. */
describe('gate.server: only in version 1', () => {
  let stage: Stage;

  afterEach(() => stage.close());

  it('a tool of the older `tool` is asked for, in each of its forms', async () => {
    stage = new Stage(version, { maxSteps: 5 });
    const server = stage.server({});
    const shape = { query: z.string().optional() };
    const hints = { readOnlyHint: true };
    const body = (name: string) => stage.counted(name, () => name);
    server.tool('plain', body('plain'));
    server.tool('described', 'Searches.', body('described'));
    server.tool('shaped', shape, body('shaped'));
    server.tool('hinted', 'Searches.', shape, hints, body('hinted'));
    const handle = server.tool('updated', body('never'));
    handle.update({ callback: body('updated') });
    const session = await stage.connect(server);
    for (const name of ['plain', 'described', 'shaped', 'hinted', 'updated']) {
      expect(textOf(await session.call(name))).toBe(name);
    }
    expect(textOf(await session.call('plain'))).toContain('Step budget exhausted: 5/5');
    expect(stage.world.of('call.started').map(({ tool }) => tool)).toEqual(stage.world.started);
  });

  it('a tool that makes tasks is asked for when a task is to be made', async () => {
    stage = new Stage(version, { maxSteps: 1 });
    const taskStore = new InMemoryTaskStore();
    const capabilities = { tasks: { list: {}, requests: { tools: { call: {} } } } };
    const server = stage.gate.server(new version.McpServer(INFO, { capabilities, taskStore }));
    class Research {
      readonly #answer = result('researched');
      async createTask(_args: object, { taskStore: store }: typeof Extra) {
        stage.world.started.push('research');
        const task = await store.createTask({ ttl: 60_000, pollInterval: 10 });
        await store.storeTaskResult(task.taskId, 'completed', this.#answer);
        return { task };
      }
      getTask(_args: object, { taskId, taskStore: store }: typeof Extra) {
        return store.getTask(taskId);
      }
      getTaskResult(_args: object, { taskId, taskStore: store }: typeof Extra) {
        return store.getTaskResult(taskId);
      }
    }
    const config = { inputSchema: z.looseObject({}), execution: { taskSupport: 'optional' } };
    server.experimental.tasks.registerToolTask('research', config, new Research());
    const session = await stage.connect(server);
    expect(textOf(await session.call('research'))).toBe('researched');
    const [refused] = [await session.call('research')];
    expect(refused).toMatchObject({ isError: true });
    expect(textOf(refused)).toContain('Step budget exhausted: 1/1');
    // A client that asks for a task gets none.
    const messages: { type: string }[] = [];
    const stream = session.client.experimental.tasks.callToolStream(
      { name: 'research', arguments: {} },
      CallToolResultSchema,
      { task: {} },
    );
    for await (const message of stream) messages.push(message);
    expect(messages.map(({ type }) => type)).toEqual(['error']);
    expect(stage.world.started).toEqual(['research']);
    taskStore.cleanup();
  });
});

declare const Extra: {
  readonly taskId: string;
  // biome-ignore lint/suspicious/noExplicitAny: the store of a request.
  readonly taskStore: any;
};

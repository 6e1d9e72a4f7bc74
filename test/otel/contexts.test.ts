import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import { expect, test } from 'vitest';
import { createEnforcement, type EnforcementOptions } from '../../src/index.ts';
import { otel } from '../../src/otel/index.ts';
import { gate, outcomeOf } from '../core/helpers.ts';
import { globalTracing } from './support.ts';

const { tracer, tree, span } = globalTracing();

function traced(options: EnforcementOptions = {}) {
  const enforcement = createEnforcement(options);
  enforcement.on(otel());
  return enforcement;
}

/** A span that a body opens, as an HTTP client does. */
function request(name: string): string {
  tracer.startSpan(name).end();
  return name;
}

test('Spans that an agent and its tools open lie in the run and in the call', async () => {
  await traced().withRun(async (run) => {
    request('chat');
    await run.callTool('search', {}, async () => {
      await null;
      return request('GET');
    });
    request('chat again');
  });
  expect(tree()).toEqual(['invoke_agent', '  chat', '  execute_tool search', '    GET', '  chat again']);
});

test('Nested calls lie in their call, and child runs in the call in whose body they were begun', async () => {
  const enforcement = traced();
  const read = enforcement.tool('read', async () => request('GET'));
  const research = enforcement.tool('research', async () => {
    await read();
    await enforcement.withRun(() => read());
  });
  await enforcement.withRun(() => research());
  expect(tree()).toEqual([
    'invoke_agent',
    '  execute_tool research',
    '    execute_tool read',
    '      GET',
    '    invoke_agent',
    '      execute_tool read',
    '        GET',
  ]);
});

test('What is tied by hand lies there too, where the code runs outside of it all', async () => {
  const enforcement = traced();
  const run = enforcement.beginRun();
  const outer = await run.beforeCall('outer');
  await context.with(ROOT_CONTEXT, async () => {
    await outer.callTool('inner', {}, () => 1);
    const child = enforcement.beginRun({ parent: outer });
    await child.callTool('search', {}, () => 1);
    child.finish();
  });
  run.afterCall(outer);
  await run.callTool('after', {}, () => 1);
  run.finish();
  expect(tree()).toEqual([
    'invoke_agent',
    '  execute_tool outer',
    '    execute_tool inner',
    '    invoke_agent',
    '      execute_tool search',
    '  execute_tool after',
  ]);
});

test('A call that a body makes with no parent lies in the run', async () => {
  await traced({ parallel: 'concurrent' }).withRun((run) =>
    run.callTool('outer', {}, () => run.callTool('beside', {}, () => 1, { parent: null })),
  );
  expect(tree()).toEqual(['invoke_agent', '  execute_tool outer', '  execute_tool beside']);
});

test('A nested call of the same tool is another span', async () => {
  await traced().withRun((run) =>
    run.callTool('walk', { depth: 2 }, (ctx) => ctx.callTool('walk', { depth: 1 }, () => request('GET'))),
  );
  expect(tree()).toEqual(['invoke_agent', '  execute_tool walk', '    execute_tool walk', '      GET']);
});

test('A run lies in what was active when it began', async () => {
  const enforcement = traced();
  await tracer.startActiveSpan('POST /chat', async (server) => {
    await enforcement.withRun((run) => run.callTool('search', {}, () => 1));
    server.end();
  });
  expect(tree()).toEqual(['POST /chat', '  invoke_agent', '    execute_tool search']);
});

test('A call that waits its turn lies where it was asked for, not where the one before it ended', async () => {
  const enforcement = traced();
  const first = gate();
  await enforcement.withRun(async (run) => {
    const step = (name: string, tool: string, body: () => unknown) =>
      tracer.startActiveSpan(name, async (active) => {
        await outcomeOf(run.callTool(tool, {}, body));
        active.end();
      });
    const steps = [
      step('step 1', 'first', () => first.passed),
      step('step 2', 'second', () => request('GET')),
    ];
    first.open();
    await Promise.all(steps);
  });
  expect(tree()).toEqual([
    'invoke_agent',
    '  step 1',
    '    execute_tool first',
    '  step 2',
    '    execute_tool second',
    '      GET',
  ]);
});

test('Calls of one id that run at once have each their own body', async () => {
  const both = gate();
  await traced({ parallel: 'concurrent' }).withRun(async (run) => {
    const call = (tool: string) =>
      run.callTool(
        tool,
        {},
        async () => {
          await both.passed;
          request(`GET ${tool}`);
        },
        { callId: 'same' },
      );
    const calls = [call('a'), call('b')];
    both.open();
    await Promise.all(calls);
  });
  expect(tree()).toEqual(['invoke_agent', '  execute_tool a', '    GET a', '  execute_tool b', '    GET b']);
});

test('Runs at once do not mix', async () => {
  const enforcement = traced();
  const search = enforcement.tool('search', async (topic: string) => request(topic));
  await Promise.all(['a', 'b', 'c'].map((topic) => enforcement.withRun(() => search(topic))));
  const one = (topic: string) => ['invoke_agent', '  execute_tool search', `    ${topic}`];
  expect(tree()).toEqual([...one('a'), ...one('b'), ...one('c')]);
});

test('Code that goes on after its run has ended stands where it stood', async () => {
  const enforcement = traced();
  const open = gate();
  let body: Promise<unknown> | undefined;
  const run = enforcement.beginRun();
  const call = run.callTool('slow', {}, () => {
    body = open.passed.then(() => request('late'));
    return body;
  });
  run.abort('enough');
  open.open();
  await Promise.all([body, call]);
  expect(tree()).toEqual(['invoke_agent', '  execute_tool slow', '    late']);
});

test('The body of a tool finds its own span as the active one', async () => {
  await traced().withRun((run) =>
    run.callTool('search', {}, () => trace.getActiveSpan()?.setAttribute('found', 3)),
  );
  expect(span('execute_tool search').attributes['found']).toBe(3);
});

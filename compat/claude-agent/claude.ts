/** Claude Code, started away from whoever runs the tests: with a home of its own, and no way to anything but the scripted model. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Options, query, type SDKMessage } from '@anthropic-ai/claude-agent-sdk';
import { serveModel } from './api.ts';

const home = mkdtempSync(join(tmpdir(), 'phasegate-claude-'));
process.on('exit', () => rmSync(home, { recursive: true, force: true, maxRetries: 3 }));

/** The options of a query of the model at this address. */
export function optionsFor(address: string): Options {
  return {
    cwd: home,
    env: {
      PATH: process.env['PATH'],
      HOME: home,
      ANTHROPIC_BASE_URL: address,
      ANTHROPIC_API_KEY: 'scripted',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      // Tools under their own names, as the scenarios know them, and not as mcp__server__tool.
      CLAUDE_AGENT_SDK_MCP_NO_PREFIX: '1',
    },
    settingSources: [],
    tools: [],
  };
}

/** The answer, when the messages have been read. */
export async function answerIn(messages: AsyncIterable<SDKMessage>): Promise<string> {
  let answer = '';
  for await (const message of messages) {
    if (message.type === 'result')
      answer = message.subtype === 'success' ? message.result : message.errors.join();
  }
  return answer;
}

/** Why the tests that need Claude Code cannot run here; nothing where they can. */
export async function reasonToSkip(): Promise<string | undefined> {
  try {
    const address = await serveModel(() => () => 'started');
    const answer = await answerIn(query({ prompt: 'Start', options: optionsFor(address) }));
    return answer === 'started' ? undefined : `it answered ${JSON.stringify(answer)}`;
  } catch (error) {
    return (error as Error).message.split('\n')[0];
  }
}

import { type Gate, type ShowRefusal, withMethods } from '../adapters/index.ts';
import { invalidArgument } from '../errors.ts';
import { FailedResult, resultOf } from './failed.ts';

/** A server of tools, as `MCPServerStdio` is one. */
export interface McpServer {
  readonly name: string;
  callTool(tool: string, args: never, ...rest: never): Promise<unknown>;
}

type CallTool = (tool: string, args: unknown, ...rest: unknown[]) => Promise<unknown>;

/** A server whose tools are called when they are admitted. A refusal is a result with an error in it, as servers give them. */
export function superviseServer<S extends McpServer>(gate: Gate, server: S): S {
  if (typeof server?.callTool !== 'function') throw invalidArgument('server', 'an MCP server', server);
  const asCall = (method: CallTool, show: ShowRefusal<unknown>): CallTool => {
    return (tool, args, ...rest) => {
      const body = async () => {
        const result = await method.call(server, tool, args, ...rest);
        if (isError(result)) throw new FailedResult(result, `The server ${server.name} answered an error`);
        return result;
      };
      return resultOf(gate.call({ tool, args }, body, show));
    };
  };
  const content = (text: string) => [{ type: 'text', text }];
  const { callTool, callToolResult } = server as unknown as Record<string, CallTool>;
  return withMethods(server, {
    callTool: asCall(callTool as CallTool, content),
    ...(callToolResult && {
      callToolResult: asCall(callToolResult, (text) => ({ content: content(text), isError: true })),
    }),
  });
}

function isError(result: unknown): boolean {
  return (result as { readonly isError?: unknown } | null)?.isError === true;
}

/** What of a version of the SDK is used, with what has another name in the other. */
export interface Version {
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  readonly McpServer: new (
    info: { name: string; version: string },
    options?: object,
  ) => any;
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  readonly Client: new (info: {
    name: string;
    version: string;
  }) => any;
  readonly InMemoryTransport: { createLinkedPair(): [unknown, unknown] };
  /** In version 1 the schema of the result stands between the parameters and the options. */
  readonly schemaFirst: boolean;
}

export const INFO = { name: 'compat', version: '1.0.0' };

/** A tool call as a client makes it. */
export interface Call {
  readonly name: string;
  readonly arguments?: Readonly<Record<string, unknown>> | undefined;
  readonly _meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The result of one. */
export interface Result {
  readonly isError?: boolean;
  readonly content: readonly { readonly type: string; readonly text: string }[];
  readonly structuredContent?: unknown;
}

/** What is looked at of what a handler is handed last. */
export interface Extra {
  readonly signal?: AbortSignal;
  readonly mcpReq?: { readonly signal: AbortSignal };
}

export function signalOf(extra: Extra): AbortSignal | undefined {
  return extra.mcpReq?.signal ?? extra.signal;
}

/** Connects a server and a client in this process. */
export async function connect(
  { InMemoryTransport }: Version,
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  server: any,
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  client: any,
): Promise<void> {
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
}

/** Calls a tool with options. */
export async function callTool(
  { schemaFirst }: Version,
  // biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
  client: any,
  call: Call,
  options?: object,
): Promise<Result> {
  if (options === undefined) return await client.callTool(call);
  return await (schemaFirst ? client.callTool(call, undefined, options) : client.callTool(call, options));
}

/** What a model reads of a result. */
export function textOf({ content }: Result): string {
  return content.map(({ text }) => text).join('\n');
}

export function result(text: unknown): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: `${text}` }] };
}

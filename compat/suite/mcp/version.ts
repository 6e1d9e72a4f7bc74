// biome-ignore lint/suspicious/noExplicitAny: of two versions with types of their own.
export type Any = any;

/** What of a version of the SDK is used, with what has another name in the other. */
export interface Version {
  readonly McpServer: new (info: typeof INFO, options?: object) => Any;
  readonly Client: new (info: typeof INFO) => Any;
  readonly InMemoryTransport: { createLinkedPair(): [unknown, unknown] };
  /** In version 1 the schema of the result stands between the parameters and the options. */
  readonly schemaFirst: boolean;
  /**
   * A transport of HTTP, for `node:http`.
   *
   * @param onSession Is told of the session that it opens; without it the transport keeps none.
   */
  httpTransport(onSession?: (id: string, transport: Any) => void): Any;
  httpClientTransport(url: URL): Any;
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

/** What is used of what a handler is handed last. */
export interface Extra {
  readonly signal?: AbortSignal;
  readonly _meta?: { readonly progressToken?: string | number };
  readonly sendNotification?: (notification: object) => Promise<void>;
  readonly mcpReq?: {
    readonly signal: AbortSignal;
    readonly _meta?: { readonly progressToken?: string | number };
    readonly notify: (notification: object) => Promise<void>;
  };
}

export function signalOf(extra: Extra): AbortSignal | undefined {
  return extra.mcpReq?.signal ?? extra.signal;
}

export async function tellProgress(extra: Extra, progress: number): Promise<void> {
  const { progressToken } = extra.mcpReq?._meta ?? extra._meta ?? {};
  const notification = { method: 'notifications/progress', params: { progressToken, progress } };
  await (extra.mcpReq?.notify ?? extra.sendNotification)?.(notification);
}

/** Connects a server and a client in this process. */
export async function connect({ InMemoryTransport }: Version, server: Any, client: Any): Promise<void> {
  const [one, other] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(other)]);
}

/** Calls a tool with options. */
export async function callTool(
  { schemaFirst }: Version,
  client: Any,
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

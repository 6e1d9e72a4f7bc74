export { Gate, type ShowRefusal, type ToolRequest } from './gate.ts';
export { Invocation } from './invocation.ts';
export type { GateOptions } from './options.ts';

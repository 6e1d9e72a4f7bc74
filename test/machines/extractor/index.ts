import { extractMachinesFromFile } from '@xstate/machine-extractor';

/** A state as the extractor reads it. It speaks XState 4: a guard is a `cond` there. */
export interface ExtractedState {
  readonly id?: string;
  readonly type?: string;
  readonly initial?: string;
  readonly on?: Readonly<Record<string, unknown>>;
  readonly states?: Readonly<Record<string, ExtractedState>>;
}

/** The machines that Stately's own extractor finds in the text of a file. */
export function extractMachines(text: string): ExtractedState[] {
  const machines = extractMachinesFromFile(text)?.machines ?? [];
  return machines.flatMap((machine) => (machine?.toConfig() as ExtractedState | undefined) ?? []);
}

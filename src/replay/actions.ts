import type { CallChecked, RunDone } from './format.ts';
import type { CallNode, RunNode } from './nodes.ts';

/** What a recording has to be done with the enforcement. */
export type Action =
  | { readonly do: 'begin'; readonly run: RunNode }
  | { readonly do: 'start'; readonly run: RunNode; readonly call: CallNode }
  | { readonly do: 'answer'; readonly run: RunNode; readonly call: CallNode; readonly checked: CallChecked }
  | { readonly do: 'end'; readonly run: RunNode; readonly call: CallNode; readonly ok: boolean }
  | { readonly do: 'propose'; readonly run: RunNode; readonly target: string }
  | { readonly do: 'finish'; readonly run: RunNode; readonly event: Omit<RunDone, 'type' | 'run'> };

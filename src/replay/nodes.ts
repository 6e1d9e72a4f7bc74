import type { SupervisedCall } from '../call.ts';
import type { SupervisedRun } from '../supervised-run.ts';
import type { Action } from './actions.ts';
import { BriefMap } from './brief-map.ts';
import type { CallBegan, RunBegan } from './format.ts';
import { PhasePath } from './phase-path.ts';
import type { Refusal, RunFigures } from './report.ts';

/** An outermost run of a recording, with all that happens inside of it. */
export interface Root {
  /** Which outermost run of the file it is, from 0. */
  readonly index: number;
  readonly name: string;
  calls: number;
  failed: number;
  refused: number;
  first: Refusal | undefined;
  /** The rest of the run is counted, and no longer replayed. */
  stopped: boolean;
  /** Replayed calls that have ended well, and those that are in flight. */
  steps: number;
  inFlight: number;
  /** Actions that wait for a call to be admitted. */
  held: number;
  readonly figures: { -readonly [name in keyof RunFigures]: RunFigures[name] };
}

/** A run of a recording, and the run that replays it. */
export interface RunNode {
  readonly key: string;
  readonly root: Root;
  /** The run inside of which it is one, as the sub-agent of the call. */
  readonly parent: RunNode | undefined;
  readonly parentCall: CallNode | undefined;
  readonly depth: number;
  readonly children: Set<RunNode>;
  /** Calls that the recording has not ended, by its keys. */
  readonly calls: BriefMap<string, CallNode>;
  latestCall: CallNode | undefined;
  failuresInARow: number;
  /** The recording has ended it. */
  ended: boolean;

  /** Where it goes on; `undefined` for a run that begins. */
  readonly resumed: RunBegan['resumed'];
  /** Absent until it is begun. */
  run: SupervisedRun | undefined;
  /** It was not allowed to begin. */
  refused: boolean;
  readonly path: PhasePath;
  /** Replayed calls that are in flight. */
  readonly inFlight: BriefMap<CallNode, CallNode>;
  /** Calls that wait for their turn. */
  readonly waiting: CallNode[];
}

/** A call of a recording, and the call that replays it. */
export interface CallNode {
  readonly run: RunNode;
  /** Which call of its outermost run it is, from 1. */
  readonly seq: number;
  readonly event: CallBegan;
  /** The call that made it, from inside its body. */
  readonly outer: CallNode | undefined;
  /** Calls made from inside its body. */
  nested: number;

  status: 'recorded' | 'waiting' | 'in-flight' | 'refused' | 'ended';
  /** Once it is admitted. */
  call: SupervisedCall | undefined;
  /** What the recording says of its inside and of its end, while it waits. */
  backlog: Action[] | undefined;
}

export function newRoot(index: number, name: string, resumed: RunBegan['resumed']): Root {
  const { stepCount = 0, loopCount = {} } = resumed ?? {};
  return {
    index,
    name,
    calls: 0,
    failed: 0,
    refused: 0,
    first: undefined,
    stopped: false,
    steps: stepCount,
    inFlight: 0,
    held: 0,
    figures: {
      steps: stepCount,
      loops: Math.max(0, ...Object.values(loopCount)),
      failuresInARow: 0,
      nested: 0,
      depth: 0,
    },
  };
}

export function newRun(
  key: string,
  root: Root,
  { parent, parentCall, resumed }: Partial<Pick<RunNode, 'parent' | 'parentCall' | 'resumed'>>,
): RunNode {
  return {
    key,
    root,
    parent,
    parentCall,
    depth: parent === undefined ? 0 : parent.depth + 1,
    children: new Set(),
    calls: new BriefMap(),
    latestCall: undefined,
    failuresInARow: 0,
    ended: false,
    resumed,
    run: undefined,
    refused: false,
    path: new PhasePath(),
    inFlight: new BriefMap(),
    waiting: [],
  };
}

export function newCall(run: RunNode, event: CallBegan, outer: CallNode | undefined): CallNode {
  return {
    run,
    seq: run.root.calls,
    event,
    outer,
    nested: 0,
    status: 'recorded',
    call: undefined,
    backlog: undefined,
  };
}

import { describe } from 'vitest';
import { describeAdapter } from '../index.ts';
import { describeAgents } from './agents.ts';
import { harnesses } from './harness.ts';
import type { Version } from './model.ts';
import { describePieces } from './pieces.ts';
import { describeResults } from './results.ts';

/** Everything that the adapter has to do in one version of the AI SDK. */
export function describeAiSdk(version: Version): void {
  for (const harness of harnesses(version)) describeAdapter(harness);
  describe('only in the AI SDK', () => {
    describePieces(version);
    describeResults(version);
    describeAgents(version);
  });
}

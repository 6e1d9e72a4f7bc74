import { describeAdapter } from '../index.ts';
import { harnesses } from './harness.ts';

/** Everything that the adapter has to do with the OpenAI Agents SDK. */
export function describeOpenAiAgents(): void {
  for (const harness of harnesses()) describeAdapter(harness);
}

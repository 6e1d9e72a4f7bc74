import * as ai from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { harnesses } from '../suite/ai-sdk.ts';
import { describeAdapter } from '../suite/index.ts';

for (const harness of harnesses({ ai, Model: MockLanguageModelV4, stepCountIs: ai.isStepCount }))
  describeAdapter(harness);

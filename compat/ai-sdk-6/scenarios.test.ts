import * as ai from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { harnesses } from '../suite/ai-sdk.ts';
import { describeAdapter } from '../suite/index.ts';

for (const harness of harnesses({ ai, Model: MockLanguageModelV3, stepCountIs: ai.stepCountIs }))
  describeAdapter(harness);

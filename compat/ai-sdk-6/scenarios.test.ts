import * as ai from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { harnesses } from '../suite/ai-sdk.ts';
import { describeAiSdk } from '../suite/ai-sdk-only.ts';
import { describeAdapter } from '../suite/index.ts';

const version = { ai, Model: MockLanguageModelV3, stepCountIs: ai.stepCountIs };

for (const harness of harnesses(version)) describeAdapter(harness);
describeAiSdk(version);

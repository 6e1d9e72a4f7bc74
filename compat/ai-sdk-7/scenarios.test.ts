import * as ai from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { describeAiSdk } from '../suite/ai-sdk/index.ts';

describeAiSdk({ ai, Model: MockLanguageModelV4, stepCountIs: ai.isStepCount });

import * as ai from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describeAiSdk } from '../suite/ai-sdk/index.ts';

describeAiSdk({ ai, Model: MockLanguageModelV3, stepCountIs: ai.stepCountIs });

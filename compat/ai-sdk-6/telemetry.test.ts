import * as ai from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { describeTelemetry } from '../suite/ai-sdk/telemetry.ts';

describeTelemetry(
  { ai, Model: MockLanguageModelV3, stepCountIs: ai.stepCountIs },
  { settings: { experimental_telemetry: { isEnabled: true } }, call: 'ai.toolCall' },
);

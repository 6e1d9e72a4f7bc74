import { OpenTelemetry } from '@ai-sdk/otel';
import * as ai from 'ai';
import { MockLanguageModelV4 } from 'ai/test';
import { describeTelemetry } from '../suite/ai-sdk/telemetry.ts';

ai.registerTelemetry(new OpenTelemetry());

describeTelemetry(
  { ai, Model: MockLanguageModelV4, stepCountIs: ai.isStepCount },
  { settings: {}, call: 'execute_tool search' },
);

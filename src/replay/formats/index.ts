import type { TraceFormat } from '../format.ts';
import { aiSdk } from './ai-sdk.ts';
import { anthropic } from './anthropic.ts';
import { claudeCode } from './claude-code.ts';
import { inspect } from './inspect.ts';
import { langchain } from './langchain.ts';
import { langfuse } from './langfuse.ts';
import { openai } from './openai.ts';
import { openclaw } from './openclaw.ts';
import { otel } from './otel.ts';
import { phasegate } from './phasegate.ts';
import { responses } from './responses.ts';
import { tau2Bench } from './tau2-bench.ts';
import { vcr } from './vcr.ts';

/** The formats that are found by content; where two may fit, the one that comes first. */
export const FORMATS: readonly TraceFormat[] = [
  phasegate,
  claudeCode,
  openclaw,
  otel,
  langfuse,
  inspect,
  tau2Bench,
  vcr,
  openai,
  anthropic,
  aiSdk,
  responses,
  langchain,
];

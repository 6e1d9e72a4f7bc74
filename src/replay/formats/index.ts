import type { TraceFormat } from '../format.ts';
import { anthropic } from './anthropic.ts';
import { claudeCode } from './claude-code.ts';
import { openai } from './openai.ts';
import { phasegate } from './phasegate.ts';

/** The formats that are found by content; where two may fit, the one that comes first. */
export const FORMATS: readonly TraceFormat[] = [phasegate, claudeCode, openai, anthropic];

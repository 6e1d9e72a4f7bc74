import { describeOpenAiAgents } from '../suite/openai-agents/index.ts';

describeOpenAiAgents();

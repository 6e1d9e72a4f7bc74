import { describe } from 'vitest';
import { describeAdapter } from '../suite/index.ts';
import { reasonToSkip } from './claude.ts';
import { harness } from './harness.ts';

const reason = await reasonToSkip();

describe.skipIf(reason !== undefined)(
  `Claude Code${reason ? `, which does not start here: ${reason}` : ''}`,
  () => {
    describeAdapter(harness);
  },
);

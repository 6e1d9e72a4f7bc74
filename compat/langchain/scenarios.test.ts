import { describeAdapter } from '../suite/index.ts';
import { harnesses } from './harness.ts';

for (const harness of harnesses) describeAdapter(harness);

import { describeAdapter } from '../suite/index.ts';
import { harness } from './harness.ts';

describeAdapter(harness);

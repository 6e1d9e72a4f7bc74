import { describeMcp } from '../suite/mcp/index.ts';
import { version } from './version.ts';

describeMcp(version);

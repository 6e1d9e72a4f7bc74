/** What the compiler is to see: the SDK is what the package takes it for, and what it makes is what the SDK serves. */
import * as restate from '@restatedev/restate-sdk';
import { createEnforcement } from 'phasegate';
import { phasegateObject } from 'phasegate/restate';
import type { ObjectContext, SharedContext } from '../../src/restate/restate-sdk.ts';

/** What is called of a context, but for the clients of other handlers, which are typed by what they are asked for. */
type Plain<Context> = Omit<Context, 'objectClient' | 'objectSendClient'>;

export const exclusive = (context: restate.ObjectContext): Plain<ObjectContext> => context;
export const shared = (context: restate.ObjectSharedContext): Plain<SharedContext> => context;

export const served: { readonly name: string } = phasegateObject(restate, {
  enforcement: createEnforcement(),
});
restate.endpoint().bind(phasegateObject(restate, { enforcement: createEnforcement(), name: 'other' }));

// @ts-expect-error: the SDK comes first.
phasegateObject({ enforcement: createEnforcement() });
// @ts-expect-error: there is no such option.
phasegateObject(restate, { enforcement: createEnforcement(), lease: 1 });

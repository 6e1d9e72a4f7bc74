/** What a body returns that has failed all the same: its call is to end so, and whoever called it gets the result. */
export class FailedResult extends Error {
  readonly result: unknown;

  constructor(result: unknown, reason: string) {
    super(reason);
    this.result = result;
  }
}

/** Gives the result of a call, also of one that has failed. */
export async function resultOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof FailedResult) return error.result;
    throw error;
  }
}

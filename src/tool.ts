import { invalidArgument } from './errors.ts';

/** What a run of any kind offers to tools. */
interface ToolCaller {
  callTool<T>(tool: string, args: unknown, body: () => T | PromiseLike<T>): Promise<T>;
}

/**
 * A tool that is called in a run: with the same parameters, and the same result.
 *
 * @param runOf The run in which a call with these arguments is made; throws where there is none.
 * @throws {PhasegateError} `invalid-argument`.
 */
export function toolOf<This, Params extends unknown[], Result>(
  name: string,
  fn: (this: This, ...params: Params) => Result,
  runOf: (args: unknown) => ToolCaller,
): (this: This, ...params: Params) => Promise<Awaited<Result>> {
  if (typeof name !== 'string' || name === '') throw invalidArgument('name', 'the name of a tool', name);
  if (typeof fn !== 'function') throw invalidArgument('fn', 'a function', fn);
  return async function (this: This, ...params: Params): Promise<Awaited<Result>> {
    const args = params.length > 1 ? params : params[0];
    return (await runOf(args).callTool(name, args, () => fn.apply(this, params))) as Awaited<Result>;
  };
}

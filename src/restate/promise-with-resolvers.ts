/**
 * Restate's SDK needs `Promise.withResolvers`, which Node has from version 22 on: without it the service starts, and every
 * request hangs. It is two lines of the standard, so it is added where the platform lacks it.
 */
export function ensurePromiseWithResolvers(): void {
  if ('withResolvers' in Promise) return;
  Object.defineProperty(Promise, 'withResolvers', {
    configurable: true,
    writable: true,
    value: function withResolvers(this: PromiseConstructor) {
      let settle: unknown[] = [];
      const promise = new this((...both) => {
        settle = both;
      });
      const [resolve, reject] = settle;
      return { promise, resolve, reject };
    },
  });
}

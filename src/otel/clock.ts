const TICK = 0.001;

/**
 * The time in milliseconds since 1970, in steps of a microsecond, and never the same twice: the SDK's own start times are
 * whole milliseconds, in which many calls fit, and their order would be lost.
 */
export class Clock {
  // From the monotonic clock to the time of day. They drift apart, and a machine that sleeps stops the first.
  #offset = performance.timeOrigin;
  #last = 0;

  now(): number {
    const wall = Date.now();
    const monotonic = performance.now();
    const sinceWall = monotonic + this.#offset - wall;
    // The time of day is known to the millisecond; within it the other one tells.
    if (sinceWall < 0) this.#offset = wall - monotonic;
    else if (sinceWall >= 1) this.#offset = wall + 1 - TICK - monotonic;
    const time = monotonic + this.#offset;
    // Whoever sets the clock back by more means it.
    const again = time <= this.#last && time > this.#last - 1;
    this.#last = again ? this.#last + TICK : time;
    return this.#last;
  }
}

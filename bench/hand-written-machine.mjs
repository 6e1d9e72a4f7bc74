// @ts-check

/** @typedef {'IDLE' | 'PLANNING' | 'ACTING' | 'OBSERVING' | 'ANSWERING'} Phase */

/**
 * What someone would write who needs the default table and both budgets, one call at a time, and nothing else: no nested
 * or parallel calls, no log, no messages, no other table.
 */
export class HandWrittenMachine {
  /** @type {Phase} */
  phase = 'IDLE';
  stepCount = 0;
  loopCount = 0;
  inFlight = 0;

  /** @param {number} maxSteps @param {number} maxLoopsPerPhase */
  constructor(maxSteps, maxLoopsPerPhase) {
    this.maxSteps = maxSteps;
    this.maxLoopsPerPhase = maxLoopsPerPhase;
  }

  /** Whether a tool may be called now; then the call is in flight. */
  admit() {
    if (this.stepCount + this.inFlight >= this.maxSteps) return false;
    switch (this.phase) {
      case 'IDLE':
      case 'OBSERVING':
        this.enter('PLANNING');
        this.enter('ACTING');
        break;
      case 'PLANNING':
        this.enter('ACTING');
        break;
      case 'ACTING':
        if (this.loopCount >= this.maxLoopsPerPhase) return false;
        this.loopCount += 1;
        break;
      default:
        return false;
    }
    this.inFlight += 1;
    return true;
  }

  succeed() {
    this.inFlight -= 1;
    this.stepCount += 1;
    if (this.inFlight === 0) this.enter('OBSERVING');
  }

  /** @param {Phase} phase */
  enter(phase) {
    this.phase = phase;
    this.loopCount = 0;
  }
}

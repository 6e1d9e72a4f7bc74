/** Events as a process sends them. */
export function runStarted(run: string, time: number, more: object = {}) {
  return {
    type: 'run.started',
    time,
    run,
    parent: null,
    call: null,
    maxSteps: 20,
    maxLoopsPerPhase: 3,
    dfa: true,
    budget: 'shared',
    transitions: null,
    ...more,
  };
}

/** A call that is admitted from where a run is, and ends well after `took` milliseconds. */
export function callEvents(run: string, seq: number, tool: string, time: number, took = 10) {
  const call = { run, call: `call-${seq}`, seq, tool };
  const from = seq === 1 ? 'IDLE' : 'OBSERVING';
  return [
    { type: 'phase.entered', time, run, from, phase: 'PLANNING' },
    { type: 'phase.entered', time, run, from: 'PLANNING', phase: 'ACTING' },
    {
      type: 'call.started',
      time,
      ...call,
      parent: null,
      stepCount: seq - 1,
      loopCount: 0,
      waitedMs: 0,
      decisionMs: 0.02,
    },
    { type: 'phase.entered', time: time + took, run, from: 'ACTING', phase: 'OBSERVING' },
    { type: 'call.ended', time: time + took, ...call, ok: true, late: false, stepCount: seq },
  ];
}

export function callRefused(run: string, seq: number, tool: string, time: number, more: object = {}) {
  return {
    type: 'call.refused',
    time,
    run,
    call: `call-${seq}`,
    seq,
    tool,
    parent: null,
    code: 'step-budget',
    message: 'Step budget exhausted: 20/20',
    stage: 'dfa',
    phase: 'OBSERVING',
    stepCount: seq - 1,
    loopCount: 0,
    waitedMs: 0,
    decisionMs: 0.02,
    ...more,
  };
}

export function runEnded(run: string, time: number, more: object = {}) {
  return { type: 'run.ended', time, run, phase: 'ANSWERING', reason: null, stepCount: 0, ...more };
}

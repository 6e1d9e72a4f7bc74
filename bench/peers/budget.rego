# The default table and both budgets, as a policy: may a tool be called now? The state is its caller's to keep.
package budget

import rego.v1

default allow := false

within_steps if input.stepCount + input.inFlight < data.maxSteps

allow if {
	within_steps
	input.phase in {"IDLE", "PLANNING", "OBSERVING"}
}

allow if {
	within_steps
	input.phase == "ACTING"
	input.loopCount < data.maxLoopsPerPhase
}

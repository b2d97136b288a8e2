package wire

import "fmt"

// The errors with the seed's texts. TS and RequestID are set by whoever sends them.

// NoPendingPermission answers a decision on a question that does not wait.
func NoPendingPermission(run, permission string) *Error {
	return &Error{
		Code: CodeNoPendingPermission, RunID: run,
		Message: fmt.Sprintf("No pending permission request %s for run %s", permission, run),
	}
}

// NoPendingInput answers a user_input that nobody waits for.
func NoPendingInput(run, agent string) *Error {
	return &Error{
		Code: CodeNoPendingInput, RunID: run,
		Message: fmt.Sprintf("No pending input request for run %s agent %s", run, agent),
	}
}

// RunNotFound answers messages about a run that is not there or does not run.
func RunNotFound(run string) *Error {
	return &Error{Code: CodeRunNotFound, RunID: run, Message: "No active run found for runId " + run}
}

// RunNotSteerable answers a steer_run of a run that does not run.
func RunNotSteerable(run string) *Error {
	return &Error{Code: CodeRunNotSteerable, RunID: run, Message: fmt.Sprintf("Cannot steer run %s: not running", run)}
}

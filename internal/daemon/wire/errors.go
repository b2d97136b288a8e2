package wire

import "fmt"

// These errors have the texts of CommaAgents' protocol. The sender sets TS and RequestID.

// NoPendingPermission is the answer to a decision on an approval that is not pending.
func NoPendingPermission(run, permission string) *Error {
	return &Error{
		Code: CodeNoPendingPermission, RunID: run,
		Message: fmt.Sprintf("No pending permission request %s for run %s", permission, run),
	}
}

// NoPendingInput is the answer to a user_input message if the run has not requested input.
func NoPendingInput(run, agent string) *Error {
	return &Error{
		Code: CodeNoPendingInput, RunID: run,
		Message: fmt.Sprintf("No pending input request for run %s agent %s", run, agent),
	}
}

// RunNotFound is the answer to a message about a run that does not exist or is not running.
func RunNotFound(run string) *Error {
	return &Error{Code: CodeRunNotFound, RunID: run, Message: "No active run found for runId " + run}
}

// RunNotSteerable answers a steer_run of a run that is not running.
func RunNotSteerable(run string) *Error {
	return &Error{Code: CodeRunNotSteerable, RunID: run, Message: fmt.Sprintf("Cannot steer run %s: not running", run)}
}

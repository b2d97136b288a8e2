// Package outcome lists the ways in which a command or a request ends, each with its
// exit code and its HTTP status. No other package defines these numbers.
//
//	error, event.Result ──FromError, FromResult──► Outcome ──► exit code, HTTP status, JSON "code"
//
//	os.Exit(outcome.FromError(err).Exit)
//
// The numbers are stable. docs/reference/exit-codes.md and errors.md are generated from them.
package outcome

// Outcome is one of the ways in which a command or a request ends.
type Outcome struct {
	Code    string // the name in JSON
	Exit    int    // the exit code of the process
	Status  int    // the status of the HTTP response
	Meaning string // description for users
}

// The outcomes.
var (
	OK          = Outcome{"ok", 0, 200, "success"}
	Failed      = Outcome{"failed", 1, 500, "the run or the command failed"}
	Usage       = Outcome{"usage", 2, 400, "the command line or the request is invalid"}
	Denied      = Outcome{"denied", 3, 403, "the policy or a hook denied a tool call, no one answered an approval in time, or the command is not allowed"}
	Approval    = Outcome{"approval", 4, 409, "an approval request waits for an answer or has expired, or a hook deferred a call"}
	Limit       = Outcome{"limit", 5, 429, "a limit of turns, tokens or money was reached"}
	Sandbox     = Outcome{"sandbox", 6, 503, "the sandbox cannot be set up on this machine"}
	Busy        = Outcome{"busy", 7, 409, "the session is open in another process, or another process took it over"}
	Corrupt     = Outcome{"corrupt", 8, 500, "a log is damaged or was written by a newer version"}
	NotFound    = Outcome{"not_found", 9, 404, "the session, item or workspace does not exist"}
	NoEngine    = Outcome{"no_engine", 10, 503, "no container engine responds, or it does not have the image of the workspace"}
	Full        = Outcome{"full", 11, 507, "the disk limit of a workspace is reached"}
	ExecFailed  = Outcome{"exec_failed", 125, 503, "sandbox exec: the sandbox cannot be set up, or the command line is invalid"}
	ExecDenied  = Outcome{"exec_denied", 126, 403, "sandbox exec: the command exists but cannot be executed"}
	ExecMissing = Outcome{"exec_missing", 127, 404, "sandbox exec: the command does not exist"}
	Interrupted = Outcome{"interrupted", 130, 503, "interrupted; the session is saved"}
	Terminated  = Outcome{"terminated", 143, 503, "terminated; the session is saved"}
)

// All lists the outcomes in the order of their exit codes.
func All() []Outcome {
	return []Outcome{
		OK, Failed, Usage, Denied, Approval, Limit, Sandbox, Busy, Corrupt, NotFound, NoEngine, Full, ExecFailed, ExecDenied,
		ExecMissing, Interrupted, Terminated,
	}
}

// Command returns the outcome of another program, whose exit code becomes the exit code of this
// program.
func Command(exit int) Outcome {
	if exit == 0 {
		return OK
	}
	return Outcome{"command", exit, 500, "the command ended with a status other than 0"}
}

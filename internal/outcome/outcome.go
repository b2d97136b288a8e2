// Package outcome says how a command or a request can end: one row for each
// ending with its exit code and its HTTP status. Nothing else in the project
// writes these numbers.
//
//	error, event.Result ──Of, FromResult──► Outcome ──► exit code, HTTP status, JSON "code"
//
//	os.Exit(outcome.Of(err).Exit)
//
// The numbers are a promise: docs/reference/commands.md lists them and a test compares.
package outcome

// Outcome is one way to end.
type Outcome struct {
	Code    string // the name in JSON
	Exit    int    // of the process
	Status  int    // of an HTTP response
	Meaning string // for people
}

// The outcomes.
var (
	OK          = Outcome{"ok", 0, 200, "done"}
	Failed      = Outcome{"failed", 1, 500, "the run or the command failed"}
	Usage       = Outcome{"usage", 2, 400, "the command line or the request makes no sense"}
	Denied      = Outcome{"denied", 3, 403, "something was not allowed and nobody was there to ask, or a person or a hook stopped it"}
	Approval    = Outcome{"approval", 4, 409, "a question waits for an answer, or its time ran out, or a hook put a call off"}
	Limit       = Outcome{"limit", 5, 429, "a limit of turns, tokens or money was reached"}
	Sandbox     = Outcome{"sandbox", 6, 503, "the sandbox cannot be set up on this machine"}
	Busy        = Outcome{"busy", 7, 409, "the session is open elsewhere or was taken over"}
	Corrupt     = Outcome{"corrupt", 8, 500, "a log is damaged or was written by a newer version"}
	NotFound    = Outcome{"not_found", 9, 404, "there is no such session, item or workspace"}
	NoEngine    = Outcome{"no_engine", 10, 503, "no container engine answers, or it has not the image that a workspace needs"}
	Full        = Outcome{"full", 11, 507, "a workspace has used up its disk"}
	ExecFailed  = Outcome{"exec_failed", 125, 503, "sandbox exec: the sandbox could not be set up, or the command line makes no sense"}
	ExecDenied  = Outcome{"exec_denied", 126, 403, "sandbox exec: the command is there and cannot be executed"}
	ExecMissing = Outcome{"exec_missing", 127, 404, "sandbox exec: there is no such command"}
	Interrupted = Outcome{"interrupted", 130, 503, "interrupted; what was done is saved"}
	Terminated  = Outcome{"terminated", 143, 503, "terminated; what was done is saved"}
)

// All lists the outcomes in the order of their exit codes.
func All() []Outcome {
	return []Outcome{
		OK, Failed, Usage, Denied, Approval, Limit, Sandbox, Busy, Corrupt, NotFound, NoEngine, Full, ExecFailed, ExecDenied,
		ExecMissing, Interrupted, Terminated,
	}
}

// Command is how a command of somebody else's ended, whose exit code is passed on.
func Command(exit int) Outcome {
	if exit == 0 {
		return OK
	}
	return Outcome{"command", exit, 500, "the command ended with another status than 0"}
}

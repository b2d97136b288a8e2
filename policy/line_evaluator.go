package policy

import "github.com/holdfast-dev/holdfast/internal/shellparse"

// lineEvaluator is a [Policy] that can use a command line that the guard has already parsed. The
// guard calls EvaluateLine directly, without the goroutine and the time limit that other policies
// have, so EvaluateLine must not block. Requests that are not for commands are passed to Evaluate.
type lineEvaluator interface {
	Policy
	// EvaluateLine decides about a request to run a command. The guard made the reading with the
	// options, which contain the known folder and home. The policy must not change the reading or
	// the options. A policy that has more information parses the line again.
	EvaluateLine(r Request, reading *shellparse.Reading, o *shellparse.Options) Verdict
}

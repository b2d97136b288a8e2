package policy

import "github.com/holdfast-dev/holdfast/internal/shellparse"

// lineEvaluator is a [Policy] that can use a command line that the guard has already parsed. The
// guard calls EvaluateLine directly, without the goroutine and time limit of other policies, so
// EvaluateLine must not block. Requests that are not commands go to Evaluate.
type lineEvaluator interface {
	Policy
	// EvaluateLine decides about a request to run a command. The guard made the reading with the
	// options, which contain the known folder and home. The policy must not change either. A policy
	// that knows more parses the line again.
	EvaluateLine(r Request, reading *shellparse.Reading, o *shellparse.Options) Verdict
}

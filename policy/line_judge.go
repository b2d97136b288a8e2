package policy

import "github.com/holdfast-dev/holdfast/internal/shellparse"

// lineEvaluator is a [Policy] that need not read a command line itself. A guard that
// has read the line hands its reading over, and calls directly what it calls for
// other policies in a goroutine with a time limit: EvaluateLine must not block.
// What does not concern a command goes to Evaluate.
type lineEvaluator interface {
	Policy
	// EvaluateLine judges a request to run a command. The reading was made with the
	// options, which say what was known of the folder and the home; neither may be
	// changed. A judge that knows more reads the line itself.
	EvaluateLine(r Request, reading *shellparse.Reading, o *shellparse.Options) Verdict
}

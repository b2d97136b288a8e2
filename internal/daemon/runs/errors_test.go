package runs

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// A wrapped error keeps its hint.
func TestWithCodeKeepsHint(t *testing.T) {
	err := withCode(wire.CodePrepareFailed, errors.Join(outcome.Invalid("there is no key", "holdfast login groq")))
	if outcome.Hint(err) != "holdfast login groq" || outcome.FromError(err) != outcome.Usage {
		t.Errorf("%v, hint %q", err, outcome.Hint(err))
	}
	if err = withCode(wire.CodeStartFailed, err); outcome.Hint(err) != "holdfast login groq" {
		t.Errorf("hint %q", outcome.Hint(err))
	}
}

package agent

// codedError is an error with the code of the outcome that a program ends with (docs/reference/exit-codes.md).
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }

// OutcomeCode is the code; internal/outcome reads it.
func (e *codedError) OutcomeCode() string { return e.code }

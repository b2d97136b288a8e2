package agent

// codedError is an error with the code of a program's outcome (docs/reference/exit-codes.md).
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }

// OutcomeCode returns the code. Package internal/outcome reads it.
func (e *codedError) OutcomeCode() string { return e.code }

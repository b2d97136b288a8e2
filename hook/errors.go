package hook

// ErrInvalid is what every [Error] wraps.
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string { return "not a valid hook" }

// OutcomeCode is the code of the outcome that a program ends with (docs/cli.md).
func (invalid) OutcomeCode() string { return "usage" }

// Error says what is wrong with a hook, or with a block of hooks.
type Error struct {
	Field  string // "PreToolUse[0].hooks[1].timeout", or ""
	Offset int    // in bytes, of the JSON text that was decoded; 0 when it is not known
	What   string
	Advice string // what to do about it, or ""
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.What
	}
	return e.What
}

// Hint says what to do about it.
func (e *Error) Hint() string { return e.Advice }

func (e *Error) Unwrap() error { return ErrInvalid }

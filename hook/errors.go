package hook

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

// OutcomeCode is the code of the outcome that a program ends with (docs/reference/exit-codes.md).
func (e *Error) OutcomeCode() string { return "usage" }

// Is reports whether target is an empty Error, which stands for all.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{}
}

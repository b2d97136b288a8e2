package hook

// Error describes what is wrong with a hook, or with a block of hooks.
type Error struct {
	Field  string // "PreToolUse[0].hooks[1].timeout", or ""
	Offset int    // in bytes, in the decoded JSON text; 0 if not known
	What   string
	Advice string // how to fix it, or ""
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.What
	}
	return e.What
}

// Hint says how to fix it.
func (e *Error) Hint() string { return e.Advice }

// OutcomeCode is the exit outcome of the program (docs/reference/exit-codes.md).
func (e *Error) OutcomeCode() string { return "usage" }

// Is reports whether target is an empty Error, which matches every Error.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{}
}

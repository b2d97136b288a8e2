package hook

// Error describes an invalid hook or block of hooks.
type Error struct {
	Field  string // path of the field, such as "PreToolUse[0].hooks[1].timeout", or ""
	Offset int    // offset in bytes in the decoded JSON text; 0 if unknown
	What   string
	Advice string // how to fix the error, or ""
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.What
	}
	return e.What
}

// Hint returns Advice.
func (e *Error) Hint() string { return e.Advice }

// OutcomeCode returns the exit outcome of the program (docs/reference/exit-codes.md).
func (e *Error) OutcomeCode() string { return "usage" }

// Is reports whether target is an empty Error, which matches every Error.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{}
}

package outcome

// Failure is an error for users: what is wrong, what to do about it, and the outcome of the
// command.
type Failure struct {
	Message string
	Advice  string // what the user can do about it; may be ""
	Result  Outcome
	Cause   error // may be nil
}

// Error returns Message.
func (f *Failure) Error() string { return f.Message }

// Hint returns Advice.
func (f *Failure) Hint() string { return f.Advice }

// Outcome returns Result.
func (f *Failure) Outcome() Outcome { return f.Result }

// Unwrap returns Cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Invalid returns the failure for an invalid command line or request.
func Invalid(message, hint string) error {
	return &Failure{Message: message, Advice: hint, Result: Usage}
}

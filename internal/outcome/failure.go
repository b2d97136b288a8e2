package outcome

// Failure is an error for a person: what is wrong, what to do about it, and the outcome
// that it stands for.
type Failure struct {
	Message string
	Advice  string // what to do; may be ""
	Result  Outcome
	Cause   error // may be nil
}

// Error is Message.
func (f *Failure) Error() string { return f.Message }

// Hint is Advice.
func (f *Failure) Hint() string { return f.Advice }

// Outcome is Result.
func (f *Failure) Outcome() Outcome { return f.Result }

// Unwrap is Cause.
func (f *Failure) Unwrap() error { return f.Cause }

// Invalid is the failure of a command line or a request that makes no sense.
func Invalid(message, hint string) error {
	return &Failure{Message: message, Advice: hint, Result: Usage}
}

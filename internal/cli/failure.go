package cli

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// failure is an error for a person: a message and what to do.
type failure struct {
	msg  string
	hint string
	out  outcome.Outcome
	err  error
}

func (f *failure) Error() string            { return f.msg }
func (f *failure) Hint() string             { return f.hint }
func (f *failure) Outcome() outcome.Outcome { return f.out }
func (f *failure) Unwrap() error            { return f.err }

// usage returns the error of a command line that is wrong.
func usage(msg, hint string) error {
	return &failure{msg: msg, hint: hint, out: outcome.Usage}
}

// fail prints an error and returns its exit code.
func (p *Program) fail(err error) int {
	out := outcome.Of(err)
	if _, told := errors.AsType[ended](err); told {
		return out.Exit
	}
	hint := outcome.Hint(err)
	if p.json {
		_ = p.err.JSON(errorDoc{Error: errorBody{Code: out.Code, Message: err.Error(), Hint: hint, Exit: out.Exit}}, false)
		return out.Exit
	}
	p.err.Error(err.Error(), hint)
	return out.Exit
}

// warn prints a message about something that does not end the command.
func (p *Program) warn(format string, args ...any) {
	p.err.Warn(format, args...)
}

type errorDoc struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
	Exit    int    `json:"exit_code"`
}

package command

import (
	"errors"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// Fail prints an error and returns its exit code.
func (p *Program) Fail(err error) int {
	out := outcome.FromError(err)
	if _, reported := errors.AsType[ReportedError](err); reported {
		return out.Exit
	}
	hint := outcome.Hint(err)
	if p.JSON {
		_ = p.Err.JSON(errorDoc{Error: errorBody{Code: out.Code, Message: err.Error(), Hint: hint, Exit: out.Exit}}, false)
		return out.Exit
	}
	p.Err.Error(err.Error(), hint)
	return out.Exit
}

// Warn prints a message about a problem that does not end the command.
func (p *Program) Warn(format string, args ...any) {
	p.Err.Warn(format, args...)
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

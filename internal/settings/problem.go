package settings

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// ErrInvalid is wrapped by errors of [Load] about settings that cannot be used.
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string { return "settings that cannot be used" }

// OutcomeCode returns the exit outcome of the program (docs/reference/exit-codes.md).
func (invalid) OutcomeCode() string { return "usage" }

// Problem is a problem of a settings file.
type Problem struct {
	Layer  string `json:"layer,omitempty"`
	File   string `json:"file,omitempty"` // or the flag
	Line   int    `json:"line,omitempty"` // counted from 1; 0 if the problem is about the whole file
	Col    int    `json:"col,omitempty"`  // from 1, in bytes
	Detail string `json:"what"`
	Hint   string `json:"hint,omitempty"`
	Fatal  bool   `json:"fatal"` // loading fails
}

// String returns "file:line:col: what".
func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Detail
	case p.Line == 0:
		return p.File + ": " + p.Detail
	case p.Col == 0:
		return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Detail)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Detail)
}

// Error reports invalid settings. It wraps [ErrInvalid] and the cause, if any.
type Error struct {
	Problems []Problem // all problems found, the fatal ones first
	Err      error     // the system's error, if a file could not be read
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Problems[0].String())
	if n := len(e.Problems) - 1; n > 0 {
		fmt.Fprintf(&b, " (and %d more, see: holdfast policy lint%s)", n, e.fileArgument())
	}
	return b.String()
}

// fileArgument returns the file as a command line argument, or "" if the command checks the file by default.
func (e *Error) fileArgument() string {
	if first := e.Problems[0]; first.Layer == layernames.Flag && filepath.IsAbs(first.File) {
		return " " + first.File
	}
	return ""
}

// Hint returns how to fix the first problem.
func (e *Error) Hint() string {
	first := e.Problems[0]
	if dir := filepath.Base(filepath.Dir(first.File)); len(e.Problems) > 1 && dir == ".claude" {
		return "this is Claude Code's file, which is already read; to copy its usable settings into yours: holdfast settings import --from claude"
	}
	return first.Hint
}

// Unwrap returns ErrInvalid and Err.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrInvalid}
	}
	return []error{ErrInvalid, e.Err}
}

// fatalError returns an error with the fatal problems of a list, or nil.
func fatalError(list []Problem) error {
	var fatal []Problem
	for _, p := range list {
		if p.Fatal {
			fatal = append(fatal, p)
		}
	}
	if len(fatal) == 0 {
		return nil
	}
	return &Error{Problems: fatal}
}

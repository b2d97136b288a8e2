package settings

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// ErrInvalid is the contract of [Load]: settings that cannot be used as they are.
var ErrInvalid error = invalid{}

type invalid struct{}

func (invalid) Error() string { return "settings that cannot be used" }

// OutcomeCode is the code of the outcome that a program ends with (docs/reference/exit-codes.md).
func (invalid) OutcomeCode() string { return "usage" }

// Problem is something wrong with a settings file.
type Problem struct {
	Layer  string `json:"layer,omitempty"`
	File   string `json:"file,omitempty"` // or the flag that said it
	Line   int    `json:"line,omitempty"` // from 1; 0 when it is about the whole file
	Col    int    `json:"col,omitempty"`  // from 1, in bytes
	Detail string `json:"what"`
	Hint   string `json:"hint,omitempty"`
	Fatal  bool   `json:"fatal"` // the load is refused
}

// String is "file:line:col: what".
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

// Error refuses settings. It wraps [ErrInvalid] and whatever else is the cause.
type Error struct {
	Problems []Problem // all that were found, the fatal ones first
	Err      error     // of the system, when a file could not be read
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Problems[0].String())
	if n := len(e.Problems) - 1; n > 0 {
		fmt.Fprintf(&b, " (and %d more, see: holdfast policy lint%s)", n, e.given())
	}
	return b.String()
}

// given is the file to look at, when it is not one that is looked at by itself.
func (e *Error) given() string {
	if first := e.Problems[0]; first.Layer == layernames.Flag && filepath.IsAbs(first.File) {
		return " " + first.File
	}
	return ""
}

// Hint says what to do about the first problem.
func (e *Error) Hint() string {
	first := e.Problems[0]
	if dir := filepath.Base(filepath.Dir(first.File)); len(e.Problems) > 1 && dir == ".claude" {
		return "this is Claude Code's file, which is read anyway; to write what works here into your own settings: holdfast settings import --from claude"
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

// refuse makes an error of the fatal problems in a list, or returns nil.
func refuse(list []Problem) error {
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

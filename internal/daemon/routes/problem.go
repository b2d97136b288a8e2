package routes

import (
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// NewProblem returns a problem with the code, status and title of an outcome.
func NewProblem(o outcome.Outcome, detail, hint string) *api.Problem {
	return &api.Problem{Type: problemType(o.Code), Title: o.Meaning, Status: o.Status, Code: o.Code, Detail: detail, Advice: hint}
}

func problemType(code string) string { return "urn:holdfast:problem:" + code }

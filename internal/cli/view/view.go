// Package view shows runs: as text for users, as one JSON object, or as a stream of JSON objects.
// It also formats calls, hooks and rules for other commands.
//
//	var v view.View = &view.Text{Program: p}
//	v.Start(view.Header{…})
//	for e := range events { err = v.Render(e) }
package view

import (
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/policy"
)

// View shows a run: as text, as one JSON object, or as a stream of them.
type View interface {
	// Start is called once, before the first event.
	Start(Header)
	// Render is called with every event in order. Its error stops the run.
	Render(event.Event) error
	// RenderError reports an error that ended a run without a result. It returns the error that the
	// command ends with: the same error if it must still be printed.
	RenderError(error) error
}

// Header has the facts that do not change during a run.
type Header struct {
	Cwd, Model, KeySource string
	Mode                  func() policy.Mode
	Tools                 []string
	Servers               []WireServer
	Offered               tools.Offered
	CanResume             bool   // true if a later command can resume the session
	ResumeArgs            string // the flags that such a command must repeat
}

package cli

import (
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/policy"
)

// view shows a run: as text, as one JSON object, or as a stream of them.
type view interface {
	// begin is called once, before the first event.
	begin(scene)
	// show is called with every event in order. Its error stops the run.
	show(event.Event) error
	// failed tells an error that ended the run without a result, and returns
	// what is left to tell.
	failed(error) error
}

// scene is what does not change during a run.
type scene struct {
	cwd, model, keySource string
	mode                  func() policy.Mode
	tools                 []string
	servers               []wireServer
	offered               tools.Offered
	again                 bool   // whether a later command can go on
	args                  string // what it must repeat
}

func (c *runCmd) view(p *command.Program) view {
	switch c.OutputFormat {
	case "json", "stream-json":
		return &streamView{p: p, all: c.OutputFormat == "stream-json", partial: c.IncludePartialMessages, began: p.Now()}
	}
	return &textView{p: p, quiet: c.Quiet, verbose: c.Verbose}
}

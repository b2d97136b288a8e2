package run

import (
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
)

// workspaceHeader returns the view's header for an agent in a workspace.
func (c *Cmd) workspaceHeader(m *compose.WorkspaceParts, mode func() policy.Mode) view.Header {
	return view.Header{
		Cwd: workspace.WorkFolder, Model: m.Label(), KeySource: m.KeySource(), Mode: mode, ResumeArgs: c.ResumeArgs(),
		Tools:     append([]string{}, m.Options.Inside.Run.Tools...), // the selection of the run; the container decides which tools there are
		CanResume: c.Store != stores.InMemory && m.Lasting(),
	}
}

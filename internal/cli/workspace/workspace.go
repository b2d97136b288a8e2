package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// withWorkspaces checks the workspace name and calls the function do.
func (a slugArg) withWorkspaces(p *command.Program, do func(*workspace.Workspaces) error) error {
	if err := workspace.CheckSlug(a.Slug); err != nil {
		return err
	}
	return command.WithWorkspaces(p, do)
}

// printWorkspace prints a workspace: as JSON, or a sentence.
func printWorkspace(ctx context.Context, p *command.Program, w *workspace.Workspaces, slug string, asJSON bool, format string, args ...any) error {
	if !asJSON {
		p.Err.Line("%s", term.Escape(fmt.Sprintf(format, args...)))
		return nil
	}
	o, err := w.Overview(ctx, slug)
	if err != nil {
		return err
	}
	return p.Out.JSON(o, p.Out.TTY)
}

// agentWords returns a text that describes the agent of a workspace.
func agentWords(a workspace.AgentSpec) string {
	if len(a.Command) == 0 {
		return a.Kind
	}
	words := make([]string, len(a.Command))
	for i, w := range a.Command {
		words[i] = term.Quote(w)
	}
	return a.Kind + ": " + strings.Join(words, " ")
}

// networkWords returns a text that describes the network access of a workspace.
func networkWords(n workspace.Network) string {
	if n.Mode == workspace.NetworkNone {
		return "none"
	}
	if len(n.Domains) == 0 {
		return "proxy, no domains allowed yet"
	}
	return "proxy: " + strings.Join(n.Domains, ", ")
}

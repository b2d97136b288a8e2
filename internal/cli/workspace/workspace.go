// Package workspace is `holdfast workspace`: manage persistent agent containers.
package workspace

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// Command makes `holdfast workspace`.
func Command(p *command.Program) *command.Command {
	return p.Group("workspace", "Create, list, change and delete workspaces: persistent agent containers.",
		p.Command(&createCmd{}, "create", "Make a workspace: a project, a home and a container for agents."),
		p.Command(&listCmd{}, "list", "List the workspaces and how their containers are.", "ls"),
		p.Command(&showCmd{}, "show", "Print the settings of a workspace, and how its container is."),
		p.Command(&setCmd{}, "set", "Change the settings of a workspace."),
		p.Command(&startCmd{}, "start", "Make or start the container of a workspace."),
		p.Command(&stopCmd{}, "stop", "Stop the container of a workspace; it is kept."),
		p.Command(&execCmd{}, "exec", "Run a command in the container of a workspace."),
		p.Command(&duCmd{}, "du", "Say how much of the disk workspaces use."),
		newWorkspaceImageCmd(p),
		p.Command(&deleteCmd{}, "delete", "Delete a workspace with its container and its home; sessions stay.", "rm"),
	)
}

// slugArg names one workspace on the command line.
type slugArg struct {
	Slug string
}

func (c *slugArg) Declare(b *command.Builder) {
	b.Arg(&c.Slug, "slug", "The workspace's name: a to z, 0 to 9 and dashes.")
}

// with checks the name and calls do.
func (a slugArg) with(p *command.Program, do func(*workspace.Workspaces) error) error {
	if err := workspace.CheckSlug(a.Slug); err != nil {
		return err
	}
	return command.WithSpaces(p, do)
}

// tellSpace prints a workspace: as JSON, or a sentence.
func tellSpace(ctx context.Context, p *command.Program, w *workspace.Workspaces, slug string, asJSON bool, format string, args ...any) error {
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

// agentWords are the agent of a workspace as people read it.
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

// networkWords are what a workspace may reach.
func networkWords(n workspace.Network) string {
	if n.Mode == workspace.NetworkNone {
		return "none"
	}
	if len(n.Domains) == 0 {
		return "through the proxy, which lets nothing through yet"
	}
	return "through the proxy: " + strings.Join(n.Domains, ", ")
}

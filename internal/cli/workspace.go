package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

func newWorkspaceCmd(p *Program) *cobra.Command {
	return p.group("workspace", "Create, list, change and delete workspaces: persistent agent containers.",
		p.command(&workspaceCreateCmd{}, "create", "Make a workspace: a project, a home and a container for agents."),
		p.command(&workspaceListCmd{}, "list", "List the workspaces and how their containers are.", "ls"),
		p.command(&workspaceShowCmd{}, "show", "Print the settings of a workspace, and how its container is."),
		p.command(&workspaceSetCmd{}, "set", "Change the settings of a workspace."),
		p.command(&workspaceStartCmd{}, "start", "Make or start the container of a workspace."),
		p.command(&workspaceStopCmd{}, "stop", "Stop the container of a workspace; it is kept."),
		p.command(&workspaceExecCmd{}, "exec", "Run a command in the container of a workspace."),
		p.command(&workspaceDuCmd{}, "du", "Say how much of the disk workspaces use."),
		newWorkspaceImageCmd(p),
		p.command(&workspaceDeleteCmd{}, "delete", "Delete a workspace with its container and its home; sessions stay.", "rm"),
	)
}

// slugArg names one workspace on the command line.
type slugArg struct {
	Slug string
}

func (c *slugArg) declare(b *builder) {
	b.arg(&c.Slug, "slug", "The workspace's name: a to z, 0 to 9 and dashes.")
}

// spaces opens the workspaces of this home. With a store their sessions can be told
// what becomes of them.
func (p *Program) spaces(sessions *session.Sessions) (*workspace.Workspaces, error) {
	home, err := p.home()
	if err != nil {
		return nil, err
	}
	return workspace.New(home, &workspace.Options{Sessions: sessions, Clock: p.Now})
}

// withSpaces calls do with the workspaces of this home.
func (p *Program) withSpaces(do func(*workspace.Workspaces) error) error {
	w, err := p.spaces(nil)
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}

// with checks the name and calls do.
func (a slugArg) with(p *Program, do func(*workspace.Workspaces) error) error {
	if err := workspace.CheckSlug(a.Slug); err != nil {
		return err
	}
	return p.withSpaces(do)
}

// tellSpace prints a workspace: as JSON, or a sentence.
func (p *Program) tellSpace(ctx context.Context, w *workspace.Workspaces, slug string, asJSON bool, format string, args ...any) error {
	if !asJSON {
		p.err.Line("%s", term.Escape(fmt.Sprintf(format, args...)))
		return nil
	}
	o, err := w.Overview(ctx, slug)
	if err != nil {
		return err
	}
	return p.out.JSON(o, p.out.TTY)
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

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/session"
)

func newWorkspaceCmd(p *command.Program) *command.Command {
	return p.Group("workspace", "Create, list, change and delete workspaces: persistent agent containers.",
		p.Command(&workspaceCreateCmd{}, "create", "Make a workspace: a project, a home and a container for agents."),
		p.Command(&workspaceListCmd{}, "list", "List the workspaces and how their containers are.", "ls"),
		p.Command(&workspaceShowCmd{}, "show", "Print the settings of a workspace, and how its container is."),
		p.Command(&workspaceSetCmd{}, "set", "Change the settings of a workspace."),
		p.Command(&workspaceStartCmd{}, "start", "Make or start the container of a workspace."),
		p.Command(&workspaceStopCmd{}, "stop", "Stop the container of a workspace; it is kept."),
		p.Command(&workspaceExecCmd{}, "exec", "Run a command in the container of a workspace."),
		p.Command(&workspaceDuCmd{}, "du", "Say how much of the disk workspaces use."),
		newWorkspaceImageCmd(p),
		p.Command(&workspaceDeleteCmd{}, "delete", "Delete a workspace with its container and its home; sessions stay.", "rm"),
	)
}

// slugArg names one workspace on the command line.
type slugArg struct {
	Slug string
}

func (c *slugArg) Declare(b *command.Builder) {
	b.Arg(&c.Slug, "slug", "The workspace's name: a to z, 0 to 9 and dashes.")
}

// openSpaces opens the workspaces of this home. With a store their sessions can be told
// what becomes of them.
func openSpaces(p *command.Program, sessions *session.Sessions) (*workspace.Workspaces, error) {
	home, err := p.Home()
	if err != nil {
		return nil, err
	}
	return workspace.New(home, &workspace.Options{Sessions: sessions, Clock: p.Now})
}

// withSpaces calls do with the workspaces of this home.
func withSpaces(p *command.Program, do func(*workspace.Workspaces) error) error {
	w, err := openSpaces(p, nil)
	if err != nil {
		return err
	}
	defer w.Close()
	return do(w)
}

// with checks the name and calls do.
func (a slugArg) with(p *command.Program, do func(*workspace.Workspaces) error) error {
	if err := workspace.CheckSlug(a.Slug); err != nil {
		return err
	}
	return withSpaces(p, do)
}

// tellSpace prints a workspace: as JSON, or a sentence.
func tellSpace(p *command.Program, ctx context.Context, w *workspace.Workspaces, slug string, asJSON bool, format string, args ...any) error {
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

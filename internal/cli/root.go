package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/approvals"
	"github.com/holdfast-dev/holdfast/internal/cli/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/containeragent"
	"github.com/holdfast-dev/holdfast/internal/cli/daemon"
	"github.com/holdfast-dev/holdfast/internal/cli/demo"
	"github.com/holdfast-dev/holdfast/internal/cli/doctor"
	"github.com/holdfast-dev/holdfast/internal/cli/hooks"
	"github.com/holdfast-dev/holdfast/internal/cli/instructions"
	"github.com/holdfast-dev/holdfast/internal/cli/mcp"
	"github.com/holdfast-dev/holdfast/internal/cli/policy"
	"github.com/holdfast-dev/holdfast/internal/cli/run"
	"github.com/holdfast-dev/holdfast/internal/cli/runs"
	"github.com/holdfast-dev/holdfast/internal/cli/sandbox"
	"github.com/holdfast-dev/holdfast/internal/cli/sessions"
	"github.com/holdfast-dev/holdfast/internal/cli/settings"
	"github.com/holdfast-dev/holdfast/internal/cli/setup"
	"github.com/holdfast-dev/holdfast/internal/cli/store"
	"github.com/holdfast-dev/holdfast/internal/cli/workspace"
)

const description = `Run agents with durable sessions, permissions and a sandbox.

  holdfast init
  holdfast demo
  holdfast run "find out why the tests fail and fix them"
  holdfast run -c "now write a changelog entry"
  holdfast sessions list`

// commands returns the commands in the order of the help. If only is not empty, the result has just
// the command of that name, if it exists, so that the program does not build the other commands
// when it starts.
func commands(p *command.Program, only string) (list []*cobra.Command) {
	for _, c := range []struct {
		name string
		make func(*command.Program) *command.Command
	}{
		{"run", run.Command},
		{"ps", runs.PsCommand},
		{"logs", runs.LogsCommand},
		{"stop", runs.StopCommand},
		{"stats", runs.StatsCommand},
		{"init", setup.Command},
		{"models", setup.ModelsCommand},
		{"login", setup.LoginCommand},
		{"logout", setup.LogoutCommand},
		{"sessions", sessions.Command},
		{"store", store.Command},
		{"policy", policy.Command},
		{"hooks", hooks.Command},
		{"context", instructions.ContextCommand},
		{"skills", instructions.SkillsCommand},
		{"trust", hooks.TrustCommand},
		{"settings", settings.Command},
		{"mcp", mcp.Command},
		{"sandbox", sandbox.Command},
		{"audit", audit.Command},
		{"approvals", approvals.Command},
		{"workspace", workspace.Command},
		{"daemon", daemon.Command},
		{"demo", demo.Command},
		{"doctor", doctor.Command},
		{"version", func(p *command.Program) *command.Command {
			return p.Command(&versionCmd{}, "version", "Print the version.")
		}},
		{"completion", func(p *command.Program) *command.Command {
			return p.Command(&completionCmd{}, "completion", "Print a completion script for a shell.")
		}},
		{"man", func(p *command.Program) *command.Command { return p.Command(&manCmd{}, "man", "Print the man page.") }},
	} {
		if c.name == only {
			return []*cobra.Command{c.make(p)}
		}
		if only == "" {
			list = append(list, c.make(p))
		}
	}
	if only != "" {
		return commands(p, "")
	}
	return list
}

// newRoot builds the command line for args.
func newRoot(p *command.Program, args []string) *cobra.Command {
	only := ""
	if len(args) > 0 {
		only = args[0]
	}
	if strings.HasPrefix(only, "__complete") {
		p.Candidates, only = completer{p}.candidates, ""
	}
	root := p.Group("holdfast", "", commands(p, only)...)
	root.Long = description
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "help", Short: "Print the help of a command.", Hidden: true}) // execute runs it
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { printHelp(p, cmd) })
	root.SetUsageFunc(func(*cobra.Command) error { return nil })
	root.SetFlagErrorFunc(command.FlagError)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	return root
}

// execute runs the command that the arguments name.
func execute(ctx context.Context, p *command.Program) error {
	p.JSON = wantsJSON(p.Args)
	args := p.Args
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "inside":
		return containeragent.Run(ctx, p)
	case args[0] == "help": // as in git and go
		args = args[1:]
		root := newRoot(p, args)
		cmd, rest, err := root.Find(args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0:
			return command.Unexpected(cmd, rest[0])
		}
		printHelp(p, cmd)
		return nil
	case args[0] == "run":
		args = run.JoinWorktree(args)
	}
	root := newRoot(p, args)
	root.SetArgs(slices.Clone(args))
	return root.ExecuteContext(ctx)
}

// wantsJSON looks for --json before the command line is parsed, so that an error in the command
// line is printed as JSON too.
func wantsJSON(args []string) bool {
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--json":
			return true
		}
	}
	return false
}

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

const description = `Run agents that remember, ask first and cannot step outside.

  holdfast demo
  holdfast run "find out why the tests fail, and mend it"
  holdfast run -c "now write a changelog entry"
  holdfast sessions list`

// commands makes the commands, in the order of the help. With only, it makes the one of
// that name if there is one: a start does not pay for the others.
func commands(p *command.Program, only string) (list []*cobra.Command) {
	for _, c := range []struct {
		name string
		make func() *cobra.Command
	}{
		{"run", func() *cobra.Command {
			return p.Command(&runCmd{}, "run", "Give an agent a prompt and run it until it is done.")
		}},
		{"sessions", func() *cobra.Command { return newSessionsCmd(p) }},
		{"store", func() *cobra.Command { return newStoreCmd(p) }},
		{"policy", func() *cobra.Command { return newPolicyCmd(p) }},
		{"hooks", func() *cobra.Command { return newHooksCmd(p) }},
		{"context", func() *cobra.Command {
			return p.Command(&contextCmd{}, "context", "List the instruction files that agents are given here.")
		}},
		{"skills", func() *cobra.Command { return newSkillsCmd(p) }},
		{"trust", func() *cobra.Command {
			return p.Command(&trustCmd{}, "trust", "Trust the settings that a folder brings along.")
		}},
		{"mcp", func() *cobra.Command { return newMCPCmd(p) }},
		{"sandbox", func() *cobra.Command { return newSandboxCmd(p) }},
		{"audit", func() *cobra.Command { return newAuditCmd(p) }},
		{"approvals", func() *cobra.Command { return newApprovalsCmd(p) }},
		{"workspace", func() *cobra.Command { return newWorkspaceCmd(p) }},
		{"daemon", func() *cobra.Command { return newDaemonCmd(p) }},
		{"demo", func() *cobra.Command {
			return p.Command(&demoCmd{}, "demo", "Watch an agent repair a small project and survive a kill -9; needs no key.")
		}},
		{"doctor", func() *cobra.Command {
			return p.Command(&doctorCmd{}, "doctor", "Show what this machine and this setup offer.")
		}},
		{"version", func() *cobra.Command { return p.Command(&versionCmd{}, "version", "Print the version.") }},
		{"completion", func() *cobra.Command {
			return p.Command(&completionCmd{}, "completion", "Print a completion script for a shell.")
		}},
		{"man", func() *cobra.Command { return p.Command(&manCmd{}, "man", "Print the man page.") }},
	} {
		if c.name == only {
			return []*cobra.Command{c.make()}
		}
		if only == "" {
			list = append(list, c.make())
		}
	}
	if only != "" {
		return commands(p, "")
	}
	return list
}

// newRoot makes the command line for args.
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
		return (&insideCmd{}).Run(ctx, p)
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
		args = joinWorktree(args)
	}
	root := newRoot(p, args)
	root.SetArgs(slices.Clone(args))
	return root.ExecuteContext(ctx)
}

// wantsJSON looks for --json before the command line is parsed, so that errors about it
// are printed as JSON, too.
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

package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

const description = `Run agents that remember, ask first and cannot step outside.

  holdfast demo
  holdfast run "find out why the tests fail, and mend it"
  holdfast run -c "now write a changelog entry"
  holdfast sessions list`

// commands makes the commands, in the order of the help. With only, it makes the one of
// that name if there is one: a start does not pay for the others.
func (p *Program) commands(only string) (list []*cobra.Command) {
	for _, c := range []struct {
		name string
		make func() *cobra.Command
	}{
		{"run", func() *cobra.Command {
			return p.command(&runCmd{}, "run", "Give an agent a prompt and run it until it is done.")
		}},
		{"sessions", func() *cobra.Command { return newSessionsCmd(p) }},
		{"store", func() *cobra.Command { return newStoreCmd(p) }},
		{"policy", func() *cobra.Command { return newPolicyCmd(p) }},
		{"hooks", func() *cobra.Command { return newHooksCmd(p) }},
		{"context", func() *cobra.Command {
			return p.command(&contextCmd{}, "context", "List the instruction files that agents are given here.")
		}},
		{"skills", func() *cobra.Command { return newSkillsCmd(p) }},
		{"trust", func() *cobra.Command {
			return p.command(&trustCmd{}, "trust", "Trust the settings that a folder brings along.")
		}},
		{"mcp", func() *cobra.Command { return newMCPCmd(p) }},
		{"sandbox", func() *cobra.Command { return newSandboxCmd(p) }},
		{"audit", func() *cobra.Command { return newAuditCmd(p) }},
		{"approvals", func() *cobra.Command { return newApprovalsCmd(p) }},
		{"workspace", func() *cobra.Command { return newWorkspaceCmd(p) }},
		{"daemon", func() *cobra.Command { return newDaemonCmd(p) }},
		{"demo", func() *cobra.Command {
			return p.command(&demoCmd{}, "demo", "Watch an agent repair a small project and survive a kill -9; needs no key.")
		}},
		{"doctor", func() *cobra.Command {
			return p.command(&doctorCmd{}, "doctor", "Show what this machine and this setup offer.")
		}},
		{"version", func() *cobra.Command { return p.command(&versionCmd{}, "version", "Print the version.") }},
		{"completion", func() *cobra.Command {
			return p.command(&completionCmd{}, "completion", "Print a completion script for a shell.")
		}},
		{"man", func() *cobra.Command { return p.command(&manCmd{}, "man", "Print the man page.") }},
	} {
		if c.name == only {
			return []*cobra.Command{c.make()}
		}
		if only == "" {
			list = append(list, c.make())
		}
	}
	if only != "" {
		return p.commands("")
	}
	return list
}

// root makes the command line for args.
func (p *Program) root(args []string) *cobra.Command {
	p.completing = len(args) > 0 && strings.HasPrefix(args[0], "__complete")
	only := ""
	if len(args) > 0 && !p.completing {
		only = args[0]
	}
	root := p.group("holdfast", "", p.commands(only)...)
	root.Long = description
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Use: "help", Short: "Print the help of a command.", Hidden: true}) // execute runs it
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { p.help(cmd) })
	root.SetUsageFunc(func(*cobra.Command) error { return nil })
	root.SetFlagErrorFunc(flagError)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	return root
}

// execute runs the command that the arguments name.
func (p *Program) execute(ctx context.Context) error {
	p.json = wantsJSON(p.Args)
	args := p.Args
	switch {
	case len(args) == 0:
		args = []string{"--help"}
	case args[0] == "inside":
		return (&insideCmd{}).run(ctx, p)
	case args[0] == "help": // as in git and go
		args = args[1:]
		root := p.root(args)
		cmd, rest, err := root.Find(args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0:
			return unexpected(cmd, rest[0])
		}
		p.help(cmd)
		return nil
	case args[0] == "run":
		args = joinWorktree(args)
	}
	root := p.root(args)
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

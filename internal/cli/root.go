package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-dev/holdfast/internal/cli/approvals"
	"github.com/holdfast-dev/holdfast/internal/cli/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/chat"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/containeragent"
	"github.com/holdfast-dev/holdfast/internal/cli/daemon"
	"github.com/holdfast-dev/holdfast/internal/cli/demo"
	"github.com/holdfast-dev/holdfast/internal/cli/doctor"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
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
  holdfast
  holdfast "find out why the tests fail and fix them"
  holdfast attach
  holdfast -p "which license does this project have?"
  holdfast run -c "now write a changelog entry"
  holdfast sessions list
  holdfast demo`

// commandMakers has the commands in the order of the help.
var commandMakers = []struct {
	name string
	make func(*command.Program) *command.Command
}{
	{"attach", chat.AttachCommand},
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
	{"plugins", instructions.PluginsCommand},
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
}

func commandNames() (names []string) {
	for _, c := range commandMakers {
		names = append(names, c.name)
	}
	return names
}

// commands returns the commands that args can name, so that the program does not build the others
// when it starts. If args name none, they are a conversation, or they ask for help.
func commands(p *command.Program, args []string) (list []*cobra.Command) {
	names := commandNames()
	i := slices.IndexFunc(args, func(a string) bool { return slices.Contains(names, a) })
	all := len(args) == 0 || strings.HasPrefix(args[0], "__complete") || i < 0 && wantsHelp(args)
	for n, c := range commandMakers {
		if all || i >= 0 && c.name == args[i] {
			list = append(list, commandMakers[n].make(p))
		}
	}
	return list
}

func wantsHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "--help" })
}

// newRoot builds the command line for args.
func newRoot(p *command.Program, args []string) *cobra.Command {
	if len(args) > 0 && strings.HasPrefix(args[0], "__complete") {
		p.Candidates = completer{p}.candidates
	}
	root := p.Command(&chat.Cmd{Commands: commandNames()}, "holdfast", "")
	root.AddCommand(commands(p, args)...)
	command.NameCommands(root, commandNames())
	root.Long = description
	root.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveNoFileComp // of a prompt
	}
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
	args := runArgs(p, p.Args)
	switch {
	case len(args) == 0 && !chat.HasTerminal(p):
		args = []string{"--help"}
	case len(args) == 0:
		args = []string{"--"} // nothing but the conversation is built
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
		args = flags.JoinWorktree(args)
	}
	root := newRoot(p, args)
	root.SetArgs(slices.Clone(args))
	return root.ExecuteContext(ctx)
}

// runArgs returns the arguments of `holdfast run` for those of `holdfast -p`. Other arguments stay
// unchanged.
func runArgs(p *command.Program, args []string) []string {
	c := &run.Cmd{}
	set := p.Command(c, "run", "").Flags()
	set.SetInterspersed(false)
	set.ParseErrorsAllowlist.UnknownFlags = true
	for rest := args; len(rest) > 0; rest = rest[1:] {
		if set.Parse(rest) != nil { // the command that gets them says why
			return args
		}
		if c.Print {
			return append([]string{"run"}, args...)
		}
		rest = set.Args()
		if len(rest) == 0 || set.ArgsLenAtDash() >= 0 || rest[0] == "help" || strings.HasPrefix(rest[0], "__complete") || slices.Contains(commandNames(), rest[0]) {
			return args
		}
	}
	return args
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

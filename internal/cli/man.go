package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// manCmd is `holdfast man`.
type manCmd struct{}

func (c *manCmd) Run(_ context.Context, p *command.Program) error {
	p.Out.Text(manPage(newRoot(p, nil)))
	return nil
}

// environment lists the variables that the program reads, for the man page.
var environment = [][2]string{
	{"HOLDFAST_HOME", "the folder of the program's own files; default ~/.holdfast"},
	{"HOLDFAST_STORE", "where sessions are kept, as --store says it"},
	{"HOLDFAST_STORE_WAIT", "how long runs wait for a store that is away: 30s, 5m; 0 does not wait"},
	{"HOLDFAST_MIRROR", "another store that gets a copy of what run and the daemon append"},
	{"HOLDFAST_STORE_KEY", "of encrypted stores: the file of an age identity, or keychain:NAME"},
	{"HOLDFAST_STORE_PASSPHRASE", "their passphrase, instead of a key"},
	{"HOLDFAST_STORE_RECIPIENTS", "who else can open what is made from now on: age recipients, with spaces or commas between them"},
	{"HOLDFAST_MODEL", "the model of run, as --model says it; it goes before model of the settings"},
	{"ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY, GROQ_API_KEY, DEEPSEEK_API_KEY, MISTRAL_API_KEY, XAI_API_KEY, TOGETHER_API_KEY, VLLM_API_KEY", "keys of providers; they go before those that settings name, and are never shown"},
	{"ANTHROPIC_BASE_URL, OPENAI_BASE_URL", "other servers with the same API"},
	{"HOLDFAST_NO_DAEMON", "1 runs agents in this process, also when a daemon serves the home"},
	{"HOLDFAST_DAEMON_URL, HOLDFAST_DAEMON_TOKEN", "the daemon that programs with package client talk to, when not that of the home"},
	{"HOLDFAST_DAEMON_LISTEN, HOLDFAST_DAEMON_TLS_CERT, HOLDFAST_DAEMON_TLS_KEY, HOLDFAST_DAEMON_ALLOW_HOST, HOLDFAST_DAEMON_ALLOW_ORIGIN, HOLDFAST_DAEMON_DRAIN, HOLDFAST_DAEMON_LOG_FORMAT", "the flags of daemon run"},
	{"NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM", "whether colours are used; TERM=dumb also turns the progress line off"},
}

// manPage writes the mdoc source of holdfast(1).
func manPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".Dd November 20, 2026\n.Dt HOLDFAST 1\n.Os\n.Sh NAME\n.Nm holdfast\n" +
		".Nd run agents that remember, ask first and cannot step outside\n.Sh SYNOPSIS\n")
	leaves := leafCommands(root)
	for _, c := range leaves {
		fmt.Fprintf(&b, ".Nm\n.Cm %s\n", roff(commandPath(c)))
		if c.HasAvailableFlags() {
			b.WriteString(".Op Ar flags\n")
		}
		for _, a := range command.Arguments(c) {
			if name, optional := strings.CutPrefix(a[0], "["); optional {
				fmt.Fprintf(&b, ".Op Ar %s\n", roff(argumentName(name)))
			} else {
				fmt.Fprintf(&b, ".Ar %s\n", roff(argumentName(name)))
			}
		}
	}
	b.WriteString(".Sh DESCRIPTION\nAn agent runs in a folder with tools. What it says and does is a record of a session's log,\n" +
		"on disk before it counts, so a session goes on after a crash where it stopped.\n.Sh COMMANDS\n")
	for _, c := range leaves {
		fmt.Fprintf(&b, ".Ss holdfast %s\n%s\n", roff(commandPath(c)), roff(c.Short))
		b.WriteString(".Bl -tag -width Ds\n")
		for _, a := range command.Arguments(c) {
			fmt.Fprintf(&b, ".It Ar %s\n%s\n", roff(argumentName(a[0])), roff(a[1]))
		}
		visibleFlags(c, func(f *pflag.Flag) {
			b.WriteString(".It ")
			if f.Shorthand != "" {
				fmt.Fprintf(&b, "Fl %s , ", f.Shorthand)
			}
			fmt.Fprintf(&b, "Fl \\-%s", roff(f.Name))
			if v, ok := f.Value.(*command.Value); ok && !v.IsSwitch() {
				fmt.Fprintf(&b, " Ar %s", roff(v.Placeholder))
			}
			fmt.Fprintf(&b, "\n%s\n", roff(f.Usage))
		})
		b.WriteString(".El\n")
	}
	b.WriteString(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n")
	for _, e := range environment {
		fmt.Fprintf(&b, ".It Ev %s\n%s\n", roff(e[0]), roff(e[1]))
	}
	b.WriteString(".El\n.Sh FILES\n.Bl -tag -width Ds\n.It Pa ~/.holdfast/sessions.db\nthe sessions, unless told otherwise\n" +
		".It Pa ~/.holdfast/settings.json\nyour settings\n.It Pa .holdfast/settings.json , .holdfast/settings.local.json\nthose of a project\n" +
		".It Pa /etc/holdfast/settings.json\nthose of the administrator\n.El\n")
	b.WriteString(".Sh EXIT STATUS\n.Bl -tag -width Ds\n")
	for _, o := range outcome.All() {
		fmt.Fprintf(&b, ".It %d\n%s\n", o.Exit, roff(o.Meaning))
	}
	b.WriteString(".El\n")
	return b.String()
}

// leafCommands are the commands that do something, as the help orders them.
func leafCommands(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range command.Subcommands(cmd) {
		if len(command.Subcommands(c)) == 0 {
			list = append(list, c)
		}
		list = append(list, leafCommands(c)...)
	}
	return list
}

// argumentName is the name in "[<name> ...]".
func argumentName(word string) string { return strings.Trim(word, "[]<>. ") }

// commandPath is a command's name with those of its parents, without the program's.
func commandPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// roff protects text from being read as roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Join(strings.Fields(s), " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

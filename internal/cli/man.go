package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
)

// manCmd is `holdfast man`.
type manCmd struct{}

func (c *manCmd) run(_ context.Context, p *Program) error {
	k, err := p.parser(&grammar{})
	if err != nil {
		return err
	}
	p.out.Text(manPage(k.Model.Node))
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
	{"HOLDFAST_MODEL", "the model of run, as --model says it"},
	{"ANTHROPIC_API_KEY, OPENAI_API_KEY", "keys; they are read from nowhere else and never shown"},
	{"ANTHROPIC_BASE_URL, OPENAI_BASE_URL", "other servers with the same API"},
	{"HOLDFAST_NO_DAEMON", "1 runs agents in this process, also when a daemon serves the home"},
	{"HOLDFAST_DAEMON_URL, HOLDFAST_DAEMON_TOKEN", "the daemon that programs with package client talk to, when not that of the home"},
	{"HOLDFAST_DAEMON_LISTEN, HOLDFAST_DAEMON_TLS_CERT, HOLDFAST_DAEMON_TLS_KEY, HOLDFAST_DAEMON_ALLOW_HOST, HOLDFAST_DAEMON_ALLOW_ORIGIN, HOLDFAST_DAEMON_DRAIN, HOLDFAST_DAEMON_LOG_FORMAT", "the flags of daemon run"},
	{"NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, TERM", "whether colours are used; TERM=dumb also turns the progress line off"},
}

// manPage writes the mdoc source of holdfast(1).
func manPage(root *kong.Node) string {
	var b strings.Builder
	b.WriteString(".Dd November 20, 2026\n.Dt HOLDFAST 1\n.Os\n.Sh NAME\n.Nm holdfast\n" +
		".Nd run agents that remember, ask first and cannot step outside\n.Sh SYNOPSIS\n")
	leaves := manLeaves(root)
	for _, n := range leaves {
		fmt.Fprintf(&b, ".Nm\n.Cm %s\n", roff(commandPath(n)))
		if len(n.Flags) > 0 {
			b.WriteString(".Op Ar flags\n")
		}
		for _, a := range n.Positional {
			if a.Required {
				fmt.Fprintf(&b, ".Ar %s\n", roff(a.Name))
			} else {
				fmt.Fprintf(&b, ".Op Ar %s\n", roff(a.Name))
			}
		}
	}
	b.WriteString(".Sh DESCRIPTION\nAn agent runs in a folder with tools. What it says and does is a record of a session's log,\n" +
		"on disk before it counts, so a session goes on after a crash where it stopped.\n.Sh COMMANDS\n")
	for _, n := range leaves {
		fmt.Fprintf(&b, ".Ss holdfast %s\n%s\n", roff(commandPath(n)), roff(n.Help))
		b.WriteString(".Bl -tag -width Ds\n")
		for _, a := range n.Positional {
			fmt.Fprintf(&b, ".It Ar %s\n%s\n", roff(a.Name), roff(a.Help))
		}
		for _, f := range n.Flags {
			if f.Hidden {
				continue
			}
			b.WriteString(".It ")
			if f.Short != 0 {
				fmt.Fprintf(&b, "Fl %c , ", f.Short)
			}
			fmt.Fprintf(&b, "Fl \\-%s", roff(f.Name))
			if !f.IsBool() {
				fmt.Fprintf(&b, " Ar %s", roff(f.FormatPlaceHolder()))
			}
			fmt.Fprintf(&b, "\n%s\n", roff(f.Help))
		}
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

func manLeaves(n *kong.Node) []*kong.Node {
	var out []*kong.Node
	for _, c := range n.Children {
		if c.Hidden {
			continue
		}
		if c.Leaf() {
			out = append(out, c)
		}
		out = append(out, manLeaves(c)...)
	}
	return out
}

// commandPath is a command's name with its parents', without aliases.
func commandPath(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type == kong.ApplicationNode {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

// roff protects text from being read as roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Join(strings.Fields(s), " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

func modeNames() []string {
	var names []string
	for _, m := range policy.Modes() {
		names = append(names, string(m))
	}
	return names
}

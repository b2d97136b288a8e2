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

// manPage writes the mdoc source of holdfast(1).
func manPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".Dd November 20, 2026\n.Dt HOLDFAST 1\n.Os\n.Sh NAME\n.Nm holdfast\n" +
		".Nd run agents that remember, ask first and cannot step outside\n.Sh SYNOPSIS\n")
	leaves := append([]*cobra.Command{root}, leafCommands(root)...) // without a command, it opens a conversation
	for _, c := range leaves {
		b.WriteString(".Nm\n")
		if c != root {
			fmt.Fprintf(&b, ".Cm %s\n", roff(commandPath(c)))
		}
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
	b.WriteString(".Sh DESCRIPTION\nAn agent works in a folder with tools. All its messages and actions are recorded in the session's log\n" +
		"before it takes effect, so a session can be resumed after a crash.\n.Sh COMMANDS\n")
	for _, c := range leaves {
		about := c.Short
		if c == root {
			about = "Open a conversation in the terminal."
		}
		fmt.Fprintf(&b, ".Ss %s\n%s\n", roff(c.CommandPath()), roff(about))
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
	for _, v := range environment {
		fmt.Fprintf(&b, ".It Ev %s\n%s\n", roff(strings.Join(v.names, ", ")), roff(v.meaning))
	}
	b.WriteString(".El\n.Sh FILES\n.Bl -tag -width Ds\n.It Pa ~/.holdfast/sessions.db\nthe default session store\n" +
		".It Pa ~/.holdfast/settings.json\nyour settings\n.It Pa .holdfast/settings.json , .holdfast/settings.local.json\na project's settings\n" +
		".It Pa /etc/holdfast/settings.json\nmanaged settings\n.El\n")
	b.WriteString(".Sh EXIT STATUS\n.Bl -tag -width Ds\n")
	for _, o := range outcome.All() {
		fmt.Fprintf(&b, ".It %d\n%s\n", o.Exit, roff(o.Meaning))
	}
	b.WriteString(".El\n")
	return b.String()
}

// leafCommands returns the commands that are not groups, in the order of the help.
func leafCommands(cmd *cobra.Command) (list []*cobra.Command) {
	for _, c := range command.Subcommands(cmd) {
		if len(command.Subcommands(c)) == 0 {
			list = append(list, c)
		}
		list = append(list, leafCommands(c)...)
	}
	return list
}

// argumentName returns the name in an argument such as "[<name> ...]".
func argumentName(word string) string { return strings.Trim(word, "[]<>. ") }

// commandPath returns a command's name with those of its parents, without the program's name.
func commandPath(cmd *cobra.Command) string {
	_, path, _ := strings.Cut(cmd.CommandPath(), " ")
	return path
}

// roff escapes text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Join(strings.Fields(s), " "))
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		s = `\&` + s
	}
	return s
}

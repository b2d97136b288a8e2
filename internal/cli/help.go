package cli

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// printHelp prints the help of a command.
func printHelp(p *command.Program, cmd *cobra.Command) {
	width := 80
	if p.Out.TTY {
		width = min(p.Out.Columns(), 100)
	}
	line := p.Out.Line
	var commands [][2]string
	for _, c := range command.Subcommands(cmd) {
		commands = append(commands, [2]string{commandPath(c) + strings.TrimPrefix(c.Use, c.Name()), c.Short})
	}
	if cmd == cmd.Root() {
		line("Usage: holdfast <command> [flags]")
		line("       holdfast [<prompt>] [flags]")
	} else {
		use := cmd.UseLine()
		if len(commands) > 0 {
			use += " <command>"
		}
		line("%s", "Usage: "+use+" [flags]")
	}
	for _, text := range []string{cmd.Short, cmd.Long} {
		if text == "" {
			continue
		}
		line("")
		for _, l := range expandHelp(text, width-4) {
			line("%s", l)
		}
	}
	helpRows(p, "Arguments", command.Arguments(cmd), width)
	var groups []string
	rows := map[string][][2]string{}
	visibleFlags(cmd, func(f *pflag.Flag) {
		group := "Flags"
		if v, ok := f.Value.(*command.Value); ok && v.Group != "" {
			group = v.Group
		}
		if rows[group] == nil {
			groups = append(groups, group)
		}
		rows[group] = append(rows[group], [2]string{flagWords(f), f.Usage})
	})
	for _, g := range groups {
		helpRows(p, g, rows[g], width)
	}
	helpRows(p, "Commands", commands, width)
	if len(commands) > 0 {
		line("")
		line("%s", `Run "`+cmd.CommandPath()+` <command> --help" for more information on a command.`)
	}
}

// expandHelp wraps a help text at the given width. Indented lines stay unchanged.
func expandHelp(text string, width int) (lines []string) {
	open := false // true if the last line can be continued
	for source := range strings.SplitSeq(text, "\n") {
		if source == "" || source[0] == ' ' {
			lines, open = append(lines, source), false
			continue
		}
		for word := range strings.FieldsSeq(source) {
			last := len(lines) - 1
			if open && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
				lines[last] += " " + word
				continue
			}
			lines, open = append(lines, word), true
		}
	}
	return lines
}

// visibleFlags calls the function each for every flag that the help shows, and begins with --help.
func visibleFlags(cmd *cobra.Command, each func(*pflag.Flag)) {
	if f := cmd.Flags().Lookup("help"); f != nil {
		each(f)
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			each(f)
		}
	})
}

// flagWords returns a flag as a user types it: "-m, --model=PROVIDER/MODEL".
func flagWords(f *pflag.Flag) string {
	words := "    --" + f.Name
	if f.Shorthand != "" {
		words = "-" + f.Shorthand + ", --" + f.Name
	}
	if v, ok := f.Value.(*command.Value); ok && !v.IsSwitch() {
		if f.NoOptDefVal != "" {
			return words + "[=" + v.Placeholder + "]"
		}
		return words + "=" + v.Placeholder
	}
	return words
}

// helpRows prints words and their descriptions in two columns.
func helpRows(p *command.Program, heading string, rows [][2]string, width int) {
	if len(rows) == 0 {
		return
	}
	p.Out.Line("")
	p.Out.Line("%s", heading+":")
	col := 0
	for _, r := range rows {
		if n := utf8.RuneCountInString(r[0]); n <= 30 {
			col = max(col, n)
		}
	}
	for _, r := range rows {
		head := "  " + r[0]
		n := utf8.RuneCountInString(r[0])
		if n > col {
			p.Out.Line("%s", head)
			head = strings.Repeat(" ", col+2)
		} else {
			head += strings.Repeat(" ", col-n)
		}
		text := ""
		for word := range strings.FieldsSeq(r[1]) {
			if text != "" && col+4+utf8.RuneCountInString(text+" "+word) > width {
				p.Out.Line("%s", head+"  "+text)
				head, text = strings.Repeat(" ", col+2), word
				continue
			}
			text = strings.TrimSpace(text + " " + word)
		}
		p.Out.Line("%s", strings.TrimRight(head+"  "+text, " "))
	}
}

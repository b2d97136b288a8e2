package chat

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// The tables of docs/terminal.md show the commands and keys of /help.
func TestReferenceTerminal(t *testing.T) {
	var commands [][]string
	for _, c := range slashCommands() {
		commands = append(commands, []string{docgen.Code(strings.TrimSpace("/" + c.name + " " + c.args)), docgen.Text(c.help)})
	}
	heads := []string{"key or text", "what it does"}
	docgen.Parts(t, "terminal.md", map[string]string{
		"keys":     docgen.Table(heads, helpRows(t, keysHelp, 27)),
		"plain":    docgen.Table(heads, helpRows(t, plainHelp, 12)),
		"commands": docgen.Table([]string{"command", "what it does"}, commands),
	})
}

// helpRows returns the rows of a text of /help, whose first column has a width.
func helpRows(t *testing.T, help string, width int) (rows [][]string) {
	for line := range strings.Lines(help) {
		entry, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
		if !ok {
			continue // a heading
		}
		if len(entry) <= width || entry[width-1] != ' ' {
			t.Errorf("no second column at %d: %q", width, line)
			continue
		}
		rows = append(rows, []string{docgen.Code(strings.TrimSpace(entry[:width])), docgen.Text(entry[width:])})
	}
	return rows
}

// /help names the keys with Ctrl that the conversation takes for itself, and no others. The input box has more keys:
// those of readline.
func TestControlKeysAreDocumented(t *testing.T) {
	p := &command.Program{Env: []string{"HOME=" + t.TempDir()}, Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Stdin: strings.NewReader("")}
	p.SetDefaults()
	for r := 'a'; r <= 'z'; r++ {
		u, err := newUI(t.Context(), p, &Start{Run: &flags.RunFlags{}})
		if err != nil {
			t.Fatal(err)
		}
		k := edit.Key{Code: r, Ctrl: true}
		taken := u.command(k) || r == 'x' || r == 'z' // the screen takes these two
		u.box.Set(edit.Entry{Text: "text"})
		name := "Ctrl-" + strings.ToUpper(string(r))
		switch named := strings.Contains(keysHelp, name); {
		case taken && !named:
			t.Errorf("%s is not in keysHelp", name)
		case named && !taken && u.box.Press(k) == edit.Ignored && r != 'r': // without a history there is no search
			t.Errorf("%s is in keysHelp, but no key of the conversation", name)
		}
		u.close()
	}
}

package chat

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/docgen"
)

// The tables of docs/terminal.md show the commands and keys of /help.
func TestReferenceTerminal(t *testing.T) {
	var commands, keys [][]string
	for _, c := range slashCommands() {
		commands = append(commands, []string{docgen.Code(strings.TrimSpace("/" + c.name + " " + c.args)), docgen.Text(c.help)})
	}
	for line := range strings.Lines(keysHelp) {
		entry, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
		if !ok {
			continue // a heading
		}
		key, does, ok := strings.Cut(entry, "  ")
		if !ok && len(entry) > keyColumn { // a key that fills its column
			key, does, ok = entry[:keyColumn], entry[keyColumn:], true
		}
		if !ok {
			t.Errorf("a line of keysHelp has no two columns: %q", line)
		}
		keys = append(keys, []string{docgen.Code(strings.TrimSpace(key)), docgen.Text(strings.TrimSpace(does))})
	}
	docgen.Parts(t, "terminal.md", map[string]string{
		"keys":     docgen.Table([]string{"key or text", "what it does"}, keys),
		"commands": docgen.Table([]string{"command", "what it does"}, commands),
	})
}

// keyColumn is the width of the first column of keysHelp.
const keyColumn = 27

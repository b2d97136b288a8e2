package chat

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/flags"
	"github.com/holdfast-dev/holdfast/internal/docgen"
	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
	"github.com/holdfast-dev/holdfast/internal/term/pager"
	"github.com/holdfast-dev/holdfast/internal/term/pick"
)

// The tables of docs/terminal.md show the commands and keys of /help.
func TestReferenceTerminal(t *testing.T) {
	var commands [][]string
	for _, c := range slashCommands() {
		commands = append(commands, []string{docgen.Code(strings.TrimSpace("/" + c.name + " " + c.args)), docgen.Text(c.help)})
	}
	heads := []string{"key or text", "what it does"}
	docgen.Parts(t, "terminal.md", map[string]string{
		"keys":     docgen.Table([]string{"action", "keys", "what it does"}, keyRows()),
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

// keyRows lists the actions with their default keys.
func keyRows() (rows [][]string) {
	for _, a := range keymap.Actions() {
		var keys []string
		for _, k := range a.Keys {
			keys = append(keys, docgen.Code(k))
		}
		rows = append(rows, []string{docgen.Code(a.Name), strings.Join(keys, " "), docgen.Text(a.Help)})
	}
	return rows
}

// The keys of the table do something in the conversation and the box, and no other key with Ctrl does.
func TestKeysAreDocumented(t *testing.T) {
	documented := map[string]bool{"ctrl-c": true}
	for _, a := range keymap.Actions() {
		for _, name := range a.Keys {
			if a.Context() == keymap.Chat {
				documented[name] = true
			}
			k, ok := keymap.Parse(name)
			done := ok
			switch a.Context() {
			case keymap.Chat:
				done = conversationTakes(t, k)
			case keymap.List:
				done = pick.New(nil).Press(k) != pick.Ignored
			case keymap.Page:
				done = pager.New(nil).Press(k) != pager.Ignored
			}
			if !done {
				t.Errorf("%s: %s does nothing", a.Name, name)
			}
		}
	}
	for r := 'a'; r <= 'z'; r++ {
		name := "ctrl-" + string(r)
		if k, _ := keymap.Parse(name); conversationTakes(t, k) && !documented[name] {
			t.Errorf("%s is no key of an action", name)
		}
	}
}

// conversationTakes reports whether the conversation or its box, empty or not, does something with a key.
func conversationTakes(t *testing.T, k edit.Key) bool {
	if k.Ctrl && k.Code == 'z' {
		return true // the screen takes it
	}
	for _, text := range []string{"", "a b"} {
		p := &command.Program{Env: []string{"HOME=" + t.TempDir()}, Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Stdin: strings.NewReader("")}
		p.SetDefaults()
		u, err := newUI(t.Context(), p, &Start{Run: &flags.RunFlags{}})
		if err != nil {
			t.Fatal(err)
		}
		defer u.close()
		if err := u.history.Add(t.Context(), edit.Entry{Text: "earlier"}); err != nil {
			t.Fatal(err)
		}
		u.full = true
		u.width, u.height = 80, 24
		u.frame()
		u.box.Set(edit.Entry{Text: text})
		if k.Alt && k.Code == 'y' { // after a yank
			u.box.Press(edit.Key{Code: 'u', Ctrl: true})
			u.box.Press(edit.Key{Code: 'y', Ctrl: true})
		}
		if u.command(k) || u.box.Press(k) != edit.Ignored {
			return true
		}
	}
	return false
}

package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestTerminal(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"terminal": {"theme": "light", "editor": "vim", "fullscreen": true, "bell": false, "diff": "side"}}`)
	got := p.load().Terminal
	if got.Theme.Value != "light" || got.Editor.Value != "vim" || got.Diff.Value != "side" || !*got.Fullscreen.Value || *got.Bell.Value || got.Notifications.Value != nil {
		t.Errorf("%+v", got)
	}
	if got.Theme.Origin.Line != 1 {
		t.Errorf("%+v", got.Theme)
	}
}

func TestTerminalProblems(t *testing.T) {
	for _, tt := range []struct{ file, text, want string }{
		{"home/settings.json", `{"terminal": {"theme": "pink"}}`, `terminal.theme: unknown value "pink"`},
		{"home/settings.json", `{"terminal": {"bell": "no"}}`, "terminal.bell is a text, want true or false"},
		{"home/settings.json", `{"terminal": {"keys": {"chat.mode": 7}}}`, "terminal.keys.chat.mode is a number, want a list"},
		{"home/settings.json", `{"terminal": {"colour": "x"}}`, `unknown key "terminal.colour"`},
		{"project/.holdfast/settings.json", `{"terminal": {"theme": "dark"}}`, "terminal: only user settings, flags and managed settings can set this"},
		{"home/settings.json", `{"statusLine": {"command": "x"}}`, "statusLine needs type and command"},
		{"home/settings.json", `{"statusLine": {"type": "command"}}`, "statusLine needs type and command"},
		{"home/settings.json", `{"statusLine": {"type": "static", "command": "x"}}`, "statusLine.type cannot be used"},
		{"home/settings.json", `{"statusLine": {"type": "command", "command": "x", "padding": -1}}`, "statusLine.padding: want a number"},
		{"home/settings.json", `{"statusLine": "x"}`, "statusLine is a text, want an object"},
	} {
		p := newTestHome(t)
		p.write(tt.file, tt.text)
		_, err := settings.Load(p.options())
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.text, err, tt.want)
		}
	}
}

// Keys that cannot be used are warnings: the others count.
func TestTerminalKeys(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"terminal": {"keys": {"chat.transcript": "f2", "editor.undo": ["ctrl-_", "ctrl-z"], "chat.suspend": [],
		"chat.mode": "ctrl-c"}}}`)
	s := p.load()
	if got := s.Terminal.ChosenKeys(); got["chat.transcript"][0] != "f2" || len(got["editor.undo"]) != 2 || got["chat.suspend"] == nil {
		t.Errorf("%v", got)
	}
	if len(s.Warnings) != 1 || s.Warnings[0].Line != 2 || s.Warnings[0].Hint == "" || !strings.Contains(s.Warnings[0].Detail, "terminal.keys: chat.mode: ctrl-c cannot be changed") {
		t.Errorf("%+v", s.Warnings)
	}
	own, err := settings.LoadTerminal(p.options())
	if err != nil || len(own.Keys) != 4 {
		t.Errorf("%+v %v", own, err)
	}
}

// The status line of a folder counts once the folder is trusted; that of the user is stronger than
// nothing, and weaker than that of the folder, as with other settings.
func TestStatusLine(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"statusLine": {"type": "command", "command": "mine", "padding": 2}}`)
	p.write("project/.holdfast/settings.json", `{"statusLine": {"type": "command", "command": "shared"}}`)
	s := p.load()
	if s.StatusLine.Command.Value != "mine" || s.StatusLine.Padding != 2 || s.StatusLine.InFolder() {
		t.Errorf("%+v", s.StatusLine)
	}
	if !slices.Contains(ignored(s), "statusLine") {
		t.Errorf("not reported: %q", ignored(s))
	}
	p.trust()
	if s := p.load(); s.StatusLine.Command.Value != "shared" || !s.StatusLine.InFolder() {
		t.Errorf("%+v", s.StatusLine)
	}
}

// Claude Code's status line is used. A key of it that is not known here has no effect.
func TestStatusLineOfClaude(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.claude/settings.json", `{"statusLine": {"type": "command", "command": "date", "refreshInterval": 5}}`)
	s := p.load()
	if s.StatusLine.Command.Value != "date" || len(s.Foreign) != 1 {
		t.Errorf("%+v %+v", s.StatusLine, s.Foreign)
	}
}

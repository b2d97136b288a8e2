package chat

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
)

// hits presses keys of the terminal, as the settings name them.
func (x *user) hits(names ...string) {
	x.t.Helper()
	for _, name := range names {
		k, ok := keymap.Parse(name)
		if !ok {
			x.t.Fatalf("no key %q", name)
		}
		if k, ok := x.u.translate(k); ok {
			x.u.key(k)
		}
	}
}

// The keys of the settings work, and /help and the hints show them. A key that cannot be used is reported
// when the session is open.
func TestChosenKeys(t *testing.T) {
	home, dir, script := withSettings(t, `{"terminal": {"keys": {"chat.transcript": "f2", "chat.leave": "ctrl-q", "chat.question": "f4",
		"editor.undo": ["f5"], "list.down": "f6", "page.close": "x", "page.find": "f3", "chat.mode": "ctrl-c"}}}`)
	write(t, script, writesFile)
	x := talkIn(t, home, dir, script, nil)
	x.u.width = 200
	x.until("chat.mode: ctrl-c cannot be changed: it clears, interrupts and leaves; the default stays")
	x.types("a draft")
	x.hits("ctrl-_")
	x.until("> a draft")
	x.hits("f5")
	x.until("> a")
	x.hits("ctrl-c")
	x.until("cleared; f5 brings it back")
	x.says("write it")
	x.until("allow once")
	x.hits("f4")
	x.until("1 question waits · f4")
	x.says("queued")
	x.until("queued")
	x.hits("f2")
	s := x.until("x close")
	if !strings.Contains(s, "f3 find") || strings.Contains(s, "q close") {
		t.Errorf("the page is\n%s", s)
	}
	x.hits("q")
	x.until("x close")
	x.hits("f3")
	x.until("/")
	x.types("x") // is typed
	x.hits("x", "esc", "x")
	x.until("1 question waits")
	x.says("/mode")
	x.until("permission mode")
	x.hits("down")
	if it, _ := x.u.picker.Selected(); it.Text != "default" {
		t.Errorf("down selects %s", it.Text)
	}
	x.hits("f6")
	if it, _ := x.u.picker.Selected(); it.Text == "default" {
		t.Error("f6 selects nothing")
	}
	x.hits("esc")
	x.says("/help")
	x.until("Commands")
	help := x.u.page.Text()
	for _, want := range []string{"  F2  ", "  Ctrl-Q  ", "  F5  ", "  Shift-Tab  "} {
		if !strings.Contains(help, want) {
			t.Errorf("%q is missing in\n%s", want, help)
		}
	}
	x.hits("x", "ctrl-d")
	if x.u.leaving {
		t.Error("ctrl-d leaves")
	}
	x.u.key(edit.Key{Name: keymap.Leave})
	x.hits("ctrl-q")
	if !x.u.leaving {
		t.Error("ctrl-q does not leave")
	}
}

// The keys of vi stay, whatever keys are chosen.
func TestChosenKeysInVi(t *testing.T) {
	home, dir, script := withSettings(t, `{"terminal": {"editor": "vim", "keys": {"chat.interrupt": "f9", "editor.left": "f7"}}}`)
	x := talkIn(t, home, dir, script, nil)
	x.hits("a", "b", "c", "esc", "h", "x")
	x.until("normal > ac")
	x.hits("A", "d", "f7", "e")
	x.until("insert > aced")
}

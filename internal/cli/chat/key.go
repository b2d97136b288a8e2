package chat

import (
	"fmt"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
)

// names are the names of the keys that have no character.
var names = map[rune]string{
	uv.KeyEnter: "enter", uv.KeyKpEnter: "enter", uv.KeyTab: "tab", uv.KeyEscape: "esc", uv.KeyBackspace: "backspace", uv.KeyDelete: "delete",
	uv.KeyUp: "up", uv.KeyDown: "down", uv.KeyLeft: "left", uv.KeyRight: "right", uv.KeyHome: "home", uv.KeyEnd: "end",
	uv.KeyPgUp: "pgup", uv.KeyPgDown: "pgdown", uv.KeySpace: "space",
	uv.KeyF1: "f1", uv.KeyF2: "f2", uv.KeyF3: "f3", uv.KeyF4: "f4", uv.KeyF5: "f5", uv.KeyF6: "f6",
	uv.KeyF7: "f7", uv.KeyF8: "f8", uv.KeyF9: "f9", uv.KeyF10: "f10", uv.KeyF11: "f11", uv.KeyF12: "f12",
}

// keyOf converts a key of the terminal to the keys of the widgets.
func keyOf(e uv.KeyPressEvent) edit.Key {
	k := edit.Key{
		Code: e.Code, Text: e.Text,
		Alt: e.Mod.Contains(uv.ModAlt), Ctrl: e.Mod.Contains(uv.ModCtrl), Shift: e.Mod.Contains(uv.ModShift),
	}
	if name, ok := names[e.Code]; ok {
		k.Name = name
		if name != "space" {
			k.Code, k.Text = 0, ""
		}
	}
	return k
}

// translate returns the key of the widgets for a key that the user has pressed. It reports false if the
// key means nothing.
func (u *ui) translate(k edit.Key) (edit.Key, bool) {
	switch {
	case u.page != nil && u.page.Typing():
		return u.keys.Translate(k, keymap.Chat)
	case u.page != nil:
		return u.keys.Translate(k, keymap.Page, keymap.Chat)
	case u.picker != nil:
		return u.keys.Translate(k, keymap.List, keymap.Chat)
	case u.inbox.Focused() && !u.inbox.Editing():
		return u.keys.Translate(k, keymap.Question, keymap.Chat)
	case u.popup != nil:
		return u.keys.Translate(k, keymap.Completion, keymap.Chat)
	case u.box.Searching():
		return u.keys.Translate(k, keymap.Search, keymap.Chat)
	}
	return u.keys.Translate(k, keymap.Chat)
}

const textHelp = `
Text
  @file                      name a file, or send an image; Tab completes it
  !command                   run your own command in the sandbox; the agent sees the output with your next message
  #text                      add a line to the project's instructions

Keys
  Ctrl-C                     clear the box, interrupt, twice: leave
`

// keyGroups are the parts of /help.
var keyGroups = map[string]string{
	"editor": "In the box", "search": "In a search of earlier messages", "completion": "In the completions below the box",
	"list": "In a list", "page": "In a page", "question": "In a question, besides its letters",
}

// keysHelp lists the keys that the user has.
func (u *ui) keysHelp() string {
	var b strings.Builder
	b.WriteString(textHelp)
	last := "chat"
	for _, a := range keymap.Actions() {
		group, _, _ := strings.Cut(a.Name, ".")
		if group != last {
			last = group
			fmt.Fprintf(&b, "\n%s\n", keyGroups[group])
		}
		keys := u.keys.Keys(a.Name)
		for len(keys) > 1 && len(keymap.Title(keys)) > 26 {
			keys = keys[:len(keys)-1]
		}
		if len(keys) > 0 {
			fmt.Fprintf(&b, "  %-26s %s\n", keymap.Title(keys), a.Help)
		}
	}
	return b.String()
}

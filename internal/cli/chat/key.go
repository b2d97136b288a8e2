package chat

import (
	uv "github.com/charmbracelet/ultraviolet"

	"github.com/holdfast-dev/holdfast/internal/term/edit"
)

// names are the names of the keys that have no character.
var names = map[rune]string{
	uv.KeyEnter: "enter", uv.KeyKpEnter: "enter", uv.KeyTab: "tab", uv.KeyEscape: "esc", uv.KeyBackspace: "backspace", uv.KeyDelete: "delete",
	uv.KeyUp: "up", uv.KeyDown: "down", uv.KeyLeft: "left", uv.KeyRight: "right", uv.KeyHome: "home", uv.KeyEnd: "end",
	uv.KeyPgUp: "pgup", uv.KeyPgDown: "pgdown", uv.KeySpace: "space",
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

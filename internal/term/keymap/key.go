package keymap

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Key is a pressed key. It has the fields that a terminal library knows, so that this package
// depends on none.
type Key struct {
	Code             rune   // the character on the key, without modifiers: 'a' for Ctrl-A; 0 for a named key
	Text             string // what the key types; "" if it types nothing
	Alt, Ctrl, Shift bool
	Name             string // enter, tab, esc, backspace, delete, up, down, left, right, home, end; "" for characters
}

// named are the keys that have names.
var named = []string{
	"enter", "tab", "esc", "backspace", "delete", "up", "down", "left", "right", "home", "end", "pgup", "pgdown", "space",
	"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11", "f12",
}

// spellings are other names of keys.
var spellings = map[string]string{"escape": "esc", "return": "enter", "pageup": "pgup", "pagedown": "pgdown", "del": "delete"}

// Parse returns the key of a name such as ctrl-o, alt-enter, f5 or q.
func Parse(text string) (k Key, ok bool) {
	rest := text
	for {
		at := strings.IndexAny(rest, "-+")
		if at < 1 || at == len(rest)-1 {
			break
		}
		switch strings.ToLower(rest[:at]) {
		case "ctrl", "control":
			k.Ctrl = true
		case "alt", "meta", "option":
			k.Alt = true
		case "shift":
			k.Shift = true
		default:
			return k, false
		}
		rest = rest[at+1:]
	}
	name := strings.ToLower(rest)
	if other := spellings[name]; other != "" {
		name = other
	}
	if slices.Contains(named, name) {
		k.Name = name
		if name == "space" {
			k.Code = ' '
			if !k.Ctrl && !k.Alt {
				k.Text = " "
			}
		}
		return k, true
	}
	r, n := utf8.DecodeRuneInString(rest)
	if n != len(rest) || r == utf8.RuneError || !unicode.IsPrint(r) || k.Shift { // terminals report Shift with a character as another character
		return k, false
	}
	if k.Code = r; k.Ctrl || k.Alt {
		k.Code = unicode.ToLower(r)
	} else {
		k.Text = rest
	}
	return k, true
}

// nameOf returns the name of a key, as in the settings.
func nameOf(k Key) string {
	name := k.Name
	switch {
	case name != "":
	case k.Ctrl || k.Alt:
		if name = string(unicode.ToLower(k.Code)); k.Ctrl && strings.Contains("/-7", name) { // terminals send the same for all of them
			name = "_"
		}
	default:
		name = k.Text
	}
	if k.Shift && k.Name != "" {
		name = "shift-" + name
	}
	if k.Alt {
		name = "alt-" + name
	}
	if k.Ctrl {
		name = "ctrl-" + name
	}
	return name
}

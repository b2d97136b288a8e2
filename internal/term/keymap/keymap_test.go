package keymap

import (
	"fmt"
	"strings"
	"testing"
)

func key(t *testing.T, name string) Key {
	t.Helper()
	k, ok := Parse(name)
	if !ok {
		t.Fatalf("no key %q", name)
	}
	return k
}

// The table is sound: names and keys can be parsed, and two actions of a context share a key only where
// the meaning depends on the box.
func TestTable(t *testing.T) {
	seen := map[string]string{}
	for _, a := range actions {
		if a.Help == "" || !strings.Contains(a.Name, ".") {
			t.Errorf("%+v", a)
		}
		for _, name := range a.Keys {
			if got := nameOf(key(t, name)); got != name {
				t.Errorf("%s: %q is called %q", a.Name, name, got)
			}
			at := string(a.Context()) + " " + name
			if other := seen[at]; other != "" && name != "ctrl-d" {
				t.Errorf("%s is a key of %s and %s", name, other, a.Name)
			}
			seen[at] = a.Name
		}
	}
	if m, problems := New(nil); len(problems) > 0 || m.Label("chat.transcript") != "ctrl-o" {
		t.Error(problems)
	}
}

func TestTranslate(t *testing.T) {
	chosen := map[string][]string{
		"chat.transcript": {"F2", "ctrl+t"}, "editor.transpose": {}, "chat.leave": {"ctrl-q"}, "editor.undo": {"ctrl-z", "ctrl-_"}, "chat.suspend": {},
		"chat.interrupt": {"f9"}, "chat.send": {"alt-enter"}, "chat.newline": {"enter"}, "page.close": {"x"}, "question.pageDown": {"f3"}, "completion.accept": {"right"},
	}
	m, problems := New(chosen)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, tt := range []struct {
		contexts []Context
		in, out  string // "": the key means nothing
	}{
		{[]Context{Chat}, "f2", "ctrl-o"}, {[]Context{Chat}, "ctrl-t", "ctrl-o"}, {[]Context{Chat}, "ctrl-o", ""},
		{[]Context{Chat}, "ctrl-q", "leave"}, {[]Context{Chat}, "ctrl-d", "delete"},
		{[]Context{Chat}, "ctrl-z", "ctrl-_"}, {[]Context{Chat}, "ctrl-/", "ctrl-_"},
		{[]Context{Chat}, "esc", "esc"}, {[]Context{Chat}, "f9", "esc"},
		{[]Context{Chat}, "enter", "alt-enter"}, {[]Context{Chat}, "alt-enter", "enter"}, {[]Context{Chat}, "ctrl-j", ""},
		{[]Context{Chat}, "a", "a"}, {[]Context{Chat}, "f5", "f5"},
		{[]Context{Page, Chat}, "q", ""}, {[]Context{Page, Chat}, "x", "esc"}, {[]Context{Page, Chat}, "f2", "ctrl-o"}, {[]Context{Page, Chat}, "esc", "esc"},
		{[]Context{Question, Chat}, "space", ""}, {[]Context{Question, Chat}, "f3", "pgdown"}, {[]Context{Question, Chat}, "y", "y"},
		{[]Context{Completion, Chat}, "right", "tab"}, {[]Context{Completion, Chat}, "tab", ""}, {[]Context{Completion, Chat}, "up", "up"},
		{[]Context{List, Chat}, "enter", "enter"},
	} {
		got := ""
		if k, ok := m.Translate(key(t, tt.in), tt.contexts...); ok {
			got = nameOf(k)
		}
		want := tt.out
		if want == "ctrl-_" && tt.in == "ctrl-/" { // it is the default, under another name
			got = nameOf(key(t, got))
		}
		if got != want {
			t.Errorf("%v %s: %q, want %q", tt.contexts, tt.in, got, want)
		}
	}
	if got := fmt.Sprint(m.Label("chat.transcript"), m.Keys("chat.interrupt"), m.Label("editor.transpose"), Title(m.Keys("editor.undo"))); got != "f2[f9 esc]no keyCtrl-Z, Ctrl-_" {
		t.Error(got)
	}
}

// What cannot be used is reported, and the action keeps its keys.
func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		chosen map[string][]string
		want   string
	}{
		{map[string][]string{"chat.transcripts": {"f2"}}, `unknown action "chat.transcripts"; did you mean chat.transcript?`},
		{map[string][]string{"chat.transcript": {"hyper-x"}}, `chat.transcript: unknown key "hyper-x"; write a key such as`},
		{map[string][]string{"chat.transcript": {""}}, `chat.transcript: unknown key ""`},
		{map[string][]string{"chat.transcript": {"ctrl-shift-x"}}, `unknown key "ctrl-shift-x"`},
		{map[string][]string{"chat.transcript": {"ctrl-c"}}, "chat.transcript: ctrl-c cannot be changed: it clears, interrupts and leaves"},
		{map[string][]string{"page.close": {"esc", "ctrl-c"}}, "page.close: ctrl-c cannot be changed"},
		{map[string][]string{"chat.mode": {"Escape"}}, "chat.mode: esc cannot be changed: it goes back"},
		{map[string][]string{"chat.mode": {"ctrl-i"}}, "chat.mode: terminals send tab for ctrl-i"},
		{map[string][]string{"chat.mode": {"m"}}, "chat.mode: m types text there"},
		{map[string][]string{"list.up": {"space"}}, "list.up: space types text there"},
		{map[string][]string{"question.next": {"enter"}}, "question.next: enter cannot be used in a question"},
		{map[string][]string{"question.next": {"y"}}, "question.next: y types text there"},
		{map[string][]string{"chat.send": {}}, "chat.send needs a key"},
		{map[string][]string{"chat.transcript": {"ctrl-t"}}, `chat.transcript: ctrl-t is also a key of editor.transpose; choose another key, or take it from the other action: "editor.transpose": []`},
		{map[string][]string{"chat.clear": {"f2"}, "chat.mode": {"f2"}}, "chat.clear: f2 is also a key of chat.mode"},
		{map[string][]string{"chat.transcript": {"ctrl-t"}, "editor.transpose": {"what"}}, "editor.transpose: unknown key"}, // whose default comes back
	} {
		m, problems := New(tt.chosen)
		var all []string
		for _, p := range problems {
			all = append(all, p.Text+"; "+p.Hint)
			if a := find(p.Action); a != nil && !strings.HasPrefix(strings.Join(m.Keys(p.Action), " "), a.Keys[0]) {
				t.Errorf("%v: %s has %v", tt.chosen, p.Action, m.Keys(p.Action))
			}
		}
		if !strings.Contains(strings.Join(all, "\n"), tt.want) {
			t.Errorf("%v: %q, want %q", tt.chosen, all, tt.want)
		}
	}
}

// Every default key is shown in a form that a user can type.
func TestTitle(t *testing.T) {
	for in, want := range map[string]string{"ctrl-o": "Ctrl-O", "alt-enter": "Alt-Enter", "pgdown": "PgDn", "q": "q", "N": "N", "alt-b": "Alt-B", "ctrl-_": "Ctrl-_", "alt-/": "Alt-/", "f2": "F2", "shift-tab": "Shift-Tab"} {
		if got := Title([]string{in}); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"ctrl-o", "alt-<", "ctrl--", "+", "shift-up", "ctrl-alt-x", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if k, ok := Parse(text); ok {
			if again, ok := Parse(nameOf(k)); !ok || nameOf(again) != nameOf(k) {
				t.Errorf("%q is %q", text, nameOf(k))
			}
		}
	})
}

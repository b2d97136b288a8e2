// Package keymap names what the keys of a conversation do, and lets the user choose other keys. It
// reads no keys: it replaces a key that the user has chosen by the one that the widgets know.
//
//	settings ──▶ New ──▶ Map ◀── a key of the terminal
//	              │       └────▶ a key of edit, pick, pager and inbox, or none
//	              ▼
//	           problems
//
//	m, problems := keymap.New(map[string][]string{"chat.transcript": {"f2"}})
//	if k, ok := m.Translate(k, keymap.Chat); ok {
//		editor.Press(k)
//	}
//	m.Label("chat.transcript") // "f2"
//
// The answers to a question are letters that the question shows; they cannot be changed.
package keymap

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/spelling"
)

// Context is where a key is pressed.
type Context string

// The contexts. A key that means nothing in a question, a completion or a search is for the chat.
const (
	Chat       Context = "chat" // also the actions editor.*
	Completion Context = "completion"
	Search     Context = "search"
	List       Context = "list"
	Page       Context = "page"
	Question   Context = "question"
)

// Action is what a key does.
type Action struct {
	Name string
	Keys []string // by default
	Help string
}

// Context returns where the action's keys count.
func (a *Action) Context() Context {
	group, _, _ := strings.Cut(a.Name, ".")
	if group == "editor" {
		return Chat
	}
	return Context(group)
}

// Map has the keys that the user has chosen. The nil Map has the defaults.
type Map struct {
	keys  map[string][]string // of actions that have others than by default
	bound map[Context]map[string]*Key
}

// Problem is a choice that is not used: the action keeps its default keys.
type Problem struct {
	Action, Text, Hint string
}

// fixed are keys that always keep their meaning.
var fixed = map[string]string{"ctrl-c": "clears, interrupts and leaves", "esc": "goes back"}

// aliases are keys for which terminals send the same as for another key.
var aliases = map[string]string{"ctrl-i": "tab", "ctrl-m": "enter", "ctrl-[": "esc"}

// needed are the actions without which the program cannot be used.
var needed = []string{"chat.send", "list.choose"}

// New returns a map with the keys that the user has chosen for actions, and what is wrong with them.
// An action without keys has none.
func New(chosen map[string][]string) (*Map, []Problem) {
	m := &Map{keys: map[string][]string{}, bound: map[Context]map[string]*Key{}}
	var problems []Problem
	wrong := func(name, hint, format string, args ...any) {
		delete(m.keys, name)
		problems = append(problems, Problem{name, fmt.Sprintf(format, args...), hint})
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		a := find(name)
		if a == nil {
			hint := "the actions are in docs/terminal.md and in /help"
			if near := spelling.Nearest(name, names()); near != "" {
				hint = "did you mean " + near + "?"
			}
			wrong(name, hint, "unknown action %q", name)
			continue
		}
		m.keys[name] = []string{}
		for _, text := range chosen[name] {
			key, err := check(a, text)
			if err != "" {
				wrong(name, "write a key such as ctrl-t, alt-enter, shift-up or f5", "%s", err)
				break
			}
			m.keys[name] = append(m.keys[name], key)
		}
		if len(chosen[name]) == 0 && slices.Contains(needed, name) {
			wrong(name, "give it another key", "%s needs a key", name)
		}
	}
	for again := true; again; { // a dropped choice brings default keys back
		again = false
		for _, name := range slices.Sorted(maps.Keys(m.keys)) {
			if key, other := m.conflict(find(name)); other != "" {
				wrong(name, "choose another key, or take it from the other action: \""+other+"\": []", "%s: %s is also a key of %s", name, key, other)
				again = true
			}
		}
	}
	m.bind()
	return m, problems
}

// check returns the name of a key for an action, or why it cannot be used.
func check(a *Action, text string) (key, problem string) {
	k, ok := Parse(text)
	key = nameOf(k)
	switch {
	case !ok:
		return "", fmt.Sprintf("%s: unknown key %q", a.Name, text)
	case aliases[key] != "":
		return "", fmt.Sprintf("%s: terminals send %s for %s", a.Name, aliases[key], key)
	case slices.Contains(a.Keys, key): // it is that already
		return key, ""
	case fixed[key] != "":
		return "", fmt.Sprintf("%s: %s cannot be changed: it %s", a.Name, key, fixed[key])
	case key == "enter" && a.Context() == Question:
		return "", a.Name + ": enter cannot be used in a question, so that nothing is answered by mistake"
	case a.Context() != Page && k.Text != "":
		return "", fmt.Sprintf("%s: %s types text there", a.Name, key)
	}
	return key, ""
}

// conflict returns a key of an action that another action of the context has, too.
func (m *Map) conflict(a *Action) (key, other string) {
	for i := range actions {
		o := &actions[i]
		if o.Name == a.Name || o.Context() != a.Context() {
			continue
		}
		for _, k := range m.keys[a.Name] {
			if slices.Contains(m.Keys(o.Name), k) && (!slices.Contains(a.Keys, k) || !slices.Contains(o.Keys, k)) {
				return k, o.Name
			}
		}
	}
	return "", ""
}

// bind makes the table of keys that mean something else than by default.
func (m *Map) bind() {
	for i := range actions {
		a := &actions[i]
		chosen, ok := m.keys[a.Name]
		if !ok {
			continue
		}
		bound := m.bound[a.Context()]
		if bound == nil {
			bound = map[string]*Key{}
			m.bound[a.Context()] = bound
		}
		for _, k := range chosen {
			bound[k] = a.key()
		}
		for _, k := range a.Keys {
			if _, taken := bound[k]; taken || fixed[k] != "" || slices.Contains(chosen, k) {
				continue
			}
			bound[k] = nil
			for j := range actions { // a key of two actions is still that of the other one
				if o := &actions[j]; o.Name != a.Name && o.Context() == a.Context() && slices.Contains(m.Keys(o.Name), k) {
					bound[k] = o.key()
				}
			}
		}
	}
}

// key returns the key that the widgets know.
func (a *Action) key() *Key {
	if a.Name == "chat.leave" { // Ctrl-D also deletes a character
		return &Key{Name: Leave}
	}
	first, _ := Parse(a.Keys[0])
	for _, key := range a.Keys {
		if k, _ := Parse(key); k.Text == "" {
			return &k
		}
	}
	return &first
}

// Leave is the name of a key that leaves the conversation and does nothing else.
const Leave = "leave"

// Translate returns the key of the widgets for a key that was pressed, in the first of the contexts
// in which it means something else than by default. It reports false if the key means nothing.
func (m *Map) Translate(k Key, contexts ...Context) (Key, bool) {
	if m == nil {
		return k, true
	}
	name := nameOf(k)
	for _, c := range contexts {
		switch to, ok := m.bound[c][name]; {
		case !ok:
		case to == nil:
			return k, false
		default:
			return *to, true
		}
		if isDefault(c, name) {
			break
		}
	}
	return k, true
}

func isDefault(c Context, key string) bool {
	return slices.ContainsFunc(actions, func(a Action) bool { return a.Context() == c && slices.Contains(a.Keys, key) })
}

// Keys returns the keys of an action.
func (m *Map) Keys(name string) []string {
	if m != nil {
		if keys, ok := m.keys[name]; ok {
			return withFixed(keys, find(name).Keys)
		}
	}
	if a := find(name); a != nil {
		return a.Keys
	}
	return nil
}

// withFixed adds the keys that cannot be taken from an action.
func withFixed(keys, byDefault []string) []string {
	keys = slices.Clone(keys)
	for _, k := range byDefault {
		if fixed[k] != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// Label returns the first key of an action for a line on the screen, or "no key".
func (m *Map) Label(name string) string {
	if keys := m.Keys(name); len(keys) > 0 {
		return strings.Replace(keys[0], "pgdown", "pgdn", 1)
	}
	return "no key"
}

// Title returns keys as help shows them: "Ctrl-O, F2".
func Title(keys []string) string {
	shown := make([]string, len(keys))
	for i, k := range keys {
		parts := strings.Split(k, "-")
		if strings.HasSuffix(k, "--") {
			parts = append(strings.Split(strings.TrimSuffix(k, "--"), "-"), "-")
		}
		for j, p := range parts {
			if len(p) > 1 || len(parts) > 1 {
				parts[j] = strings.ToUpper(p[:1]) + p[1:]
			}
		}
		shown[i] = strings.NewReplacer("Pgup", "PgUp", "Pgdown", "PgDn").Replace(strings.Join(parts, "-"))
	}
	return strings.Join(shown, ", ")
}

// Actions returns all actions.
func Actions() []Action { return slices.Clone(actions) }

func find(name string) *Action {
	for i := range actions {
		if actions[i].Name == name {
			return &actions[i]
		}
	}
	return nil
}

func names() (list []string) {
	for _, a := range actions {
		list = append(list, a.Name)
	}
	return list
}

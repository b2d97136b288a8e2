package settings

import (
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/term/keymap"
	"github.com/holdfast-dev/holdfast/policy"
)

// StatusLine is the command whose output replaces the status line of a conversation.
type StatusLine struct {
	Command Value[string] // "" if not set
	Padding int           // spaces on the left
}

// InFolder reports whether a file of the project's folder names the command.
func (s *StatusLine) InFolder() bool { return isFolderLayer(s.Command.Origin.Layer) }

// Terminal says how a conversation uses the terminal. "" and nil mean not set.
type Terminal struct {
	Theme         Value[string] // auto, light, dark or plain
	Editor        Value[string] // emacs or vim
	Diff          Value[string] // auto, unified or side
	Fullscreen    Value[*bool]
	Bell          Value[*bool]
	Notifications Value[*bool]
	Keys          map[string]Value[[]string] // of actions, as they are written; package keymap checks them
}

// ChosenKeys returns the keys of the actions for [keymap.New].
func (t *Terminal) ChosenKeys() map[string][]string {
	chosen := map[string][]string{}
	for name, keys := range t.Keys {
		chosen[name] = keys.Value
	}
	return chosen
}

// Themes, Editors and Diffs are the values of the keys of terminal, the default first.
var (
	Themes  = []string{"auto", "light", "dark", "plain"}
	Editors = []string{"emacs", "vim"}
	Diffs   = []string{"auto", "unified", "side"}
)

// terminalBlock decodes terminal.
func (s *parsedSource) terminalBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) {
		return
	}
	word := func(into *Value[string], words []string) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) {
			switch text, ok := s.text(path, n); {
			case !ok:
			case !slices.Contains(words, text):
				s.fault(n.At, "write one of "+strings.Join(words, ", "), "%s: unknown value %q", path, text)
			default:
				*into = Value[string]{text, s.origin(n, text)}
			}
		}
	}
	t := &s.terminal
	s.object(path, n, map[string]func(string, jsontree.Node){
		"theme":         word(&t.Theme, Themes),
		"editor":        word(&t.Editor, Editors),
		"diff":          word(&t.Diff, Diffs),
		"fullscreen":    s.flag(&t.Fullscreen),
		"bell":          s.flag(&t.Bell),
		"notifications": s.flag(&t.Notifications),
		"keys":          s.terminalKeys,
	})
}

// terminalKeys decodes terminal.keys: an action has one key or a list of keys.
func (s *parsedSource) terminalKeys(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	s.terminal.Keys = map[string]Value[[]string]{}
	for _, m := range n.Members {
		at := path + "." + m.Key
		keys := []string{}
		if m.Value.Kind == jsontree.Text {
			keys = append(keys, m.Value.Text)
		} else {
			s.texts(at, m.Value, func(_ string, item jsontree.Node) { keys = append(keys, item.Text) })
		}
		s.terminal.Keys[m.Key] = Value[[]string]{keys, s.origin(m.Value, m.Key)}
	}
}

// statusLineBlock decodes statusLine, in the form of Claude Code.
func (s *parsedSource) statusLineBlock(path string, n jsontree.Node) {
	var kind, line Value[string]
	var padding Value[int]
	s.object(path, n, map[string]func(string, jsontree.Node){
		"type":    s.fitting(&kind, `write "command"`, func(text string) bool { return text == "command" }),
		"command": s.fitting(&line, "write a shell command", func(text string) bool { return !strings.ContainsRune(text, 0) }),
		"padding": s.number(&padding, 0, "spaces, such as 1"),
	})
	switch {
	case n.Kind != jsontree.Object:
	case n.Member("type") == nil || n.Member("command") == nil:
		s.fault(n.At, `write {"type": "command", "command": "COMMAND"}`, "%s needs type and command", path)
	case kind.Value != "" && line.Value != "":
		s.status = StatusLine{Command: line, Padding: min(padding.Value, maxPadding)}
	}
}

const maxPadding = 20

// addTerminal takes each key from the strongest layer that sets it. The status line of an untrusted
// folder is ignored, because its command would run.
func (m *merger) addTerminal(s *parsedSource) {
	t, o := &m.out.Terminal, &s.terminal
	prefer(&t.Theme, o.Theme)
	prefer(&t.Editor, o.Editor)
	prefer(&t.Diff, o.Diff)
	for name, keys := range o.Keys {
		if _, ok := t.Keys[name]; !ok {
			if t.Keys == nil {
				t.Keys = map[string]Value[[]string]{}
			}
			t.Keys[name] = keys
		}
	}
	for into, v := range map[*Value[*bool]]Value[*bool]{&t.Fullscreen: o.Fullscreen, &t.Bell: o.Bell, &t.Notifications: o.Notifications} {
		preferFlag(into, v)
	}
	switch {
	case s.status.Command.Origin == (policy.Origin{}):
	case s.untrusted:
		m.ignore("statusLine", s.status.Command.Origin)
	case m.out.StatusLine.Command.Value == "":
		m.out.StatusLine = s.status
	}
}

// checkKeys reports keys that are not used. The actions keep their default keys.
func (m *merger) checkKeys() {
	t := &m.out.Terminal
	used, problems := keymap.New(t.ChosenKeys())
	for _, p := range problems {
		o := t.Keys[p.Action].Origin
		if len(used.Keys(p.Action)) > 0 {
			p.Text += "; the default stays"
		}
		m.problems = append(m.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Detail: "terminal.keys: " + p.Text, Hint: p.Hint,
		})
	}
}

// LoadTerminal reads the block terminal of the managed and the user's settings. Only Home and
// Managed of o are needed. The error is *[Error] if a file is invalid.
func LoadTerminal(o *Options) (*Terminal, error) {
	all, err := ownAndManaged(o)
	if err != nil {
		return nil, err
	}
	m := merger{out: &Settings{}}
	for _, s := range all {
		m.addTerminal(s)
	}
	return &m.out.Terminal, nil
}

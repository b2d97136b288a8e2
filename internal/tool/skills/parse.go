package skills

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/patterns"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
	"github.com/holdfast-dev/holdfast/policy"
)

// problem is an error in a file, with its position.
type problem struct {
	line, column int
	what, hint   string
}

func (f *problem) Error() string { return f.what }

// Error returns the problem with its position.
func (p Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Detail
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Detail)
}

// parser reads one file, and keeps only the first error.
type parser struct {
	b   []byte
	sk  *Skill
	err error
}

func (p *parser) fail(at int, hint, format string, args ...any) {
	if p.err != nil {
		return
	}
	f := &problem{what: fmt.Sprintf(format, args...), hint: hint}
	f.line, f.column = yamltree.Position(p.b, at)
	p.err = f
}

func parse(place Location, path string, b []byte) (*Skill, error) {
	raw := b
	if place.Plugin != nil {
		b = []byte(place.Plugin.Fill(string(b)))
	}
	p := &parser{b: b, sk: &Skill{
		Source: place.Source, Command: place.Commands, File: path, Line: 1, ModelInvocable: !place.Commands, UserInvocable: true, raw: raw,
	}}
	folder := filepath.Base(filepath.Dir(path))
	if place.Commands {
		folder = place.commandName(path)
	} else {
		p.sk.Dir = filepath.Dir(path)
	}
	t, err := yamltree.Split(b)
	if e, ok := errors.AsType[*yamltree.Error](err); ok {
		p.fail(e.Offset, e.Hint, "%s", e.Detail)
		return nil, p.err
	}
	if !t.HasFrontMatter && !place.Commands {
		p.fail(0, "start the file with ---, name: "+folder+", description: …, ---", "the front matter is missing")
	}
	for i := range t.Front.Members {
		p.parseMember(&t.Front.Members[i])
	}
	p.checkName(folder, t.Front.At)
	if place.Plugin != nil && p.err == nil {
		p.sk.Plugin, p.sk.Name = place.Plugin.Name, place.Plugin.Name+":"+p.sk.Name
		if len(p.sk.Name) > maxName {
			p.fail(t.Front.At, "", "the name %s is longer than %d characters", p.sk.Name, maxName)
		}
	}
	p.sk.body = strings.TrimSpace(t.Body)
	switch {
	case p.sk.Description == "" && !place.Commands:
		p.fail(t.Front.At, "describe what the skill does and when to use it", "description is missing")
	case p.sk.body == "":
		p.fail(t.BodyAt, "", "no text after the front matter")
	case len(p.sk.body) > maxBody:
		p.fail(t.BodyAt, "move optional details to other files in the skill's folder", "the text is larger than %d KiB", maxBody>>10)
	case !p.sk.ModelInvocable && !p.sk.UserInvocable:
		p.fail(t.Front.At, "remove one of them", "neither the model nor the user may use it: disable-model-invocation is set and user-invocable is false")
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.sk, nil
}

// checkName compares the name with the name of the folder or the file.
func (p *parser) checkName(folder string, at int) {
	sk := p.sk
	if sk.Command {
		sk.Name = folder
		if !validName(folder, true) {
			p.fail(0, "rename the file: use letters, digits, - and _", "invalid command name %q", folder)
		}
		return
	}
	if sk.Name == "" {
		p.fail(at, "write name: "+folder, "name is missing")
	} else if sk.Name != folder {
		p.fail(at, "write name: "+folder+", or rename the folder", "the name %q differs from the folder's name, %q", sk.Name, folder)
	}
}

// validName reports whether a name is valid. A valid name has 1 to 64 characters a-z, 0-9 and -,
// without - at an end or twice in a row. Names of commands may also contain A-Z, _ and folders
// before a colon.
func validName(name string, command bool) bool {
	if folders, last, ok := strings.Cut(name, ":"); ok && command {
		return len(name) <= maxName && validName(folders, true) && validName(last, true)
	}
	if name == "" || len(name) > maxName || !command && (strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--")) {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && (!command || (r < 'A' || r > 'Z') && r != '_')
	})
}

// refusedKeys contains the keys that are errors here, because they restrict something in other
// programs. For each key it has a hint.
var refusedKeys = map[string]string{
	"hooks": "define hooks in settings",
}

// ignoredKeys are keys that can be ignored safely.
var ignoredKeys = map[string]string{
	"context": "a skill runs in the agent that calls it; ask for a sub-agent in its text",
	"agent":   "a skill runs in the agent that calls it; ask for a sub-agent in its text",
	"effort":  "use --effort",
	"shell":   "a skill does not run anything by itself",
	"paths":   "a skill is always offered or never",
}

// silentKeys contains the keys without an effect, such as information for readers.
var silentKeys = []string{
	"license", "compatibility", "metadata", "version", "author", "authors", "tags", "keywords", "homepage", "repository", "category",
}

func (p *parser) parseMember(m *jsontree.Member) {
	sk, v := p.sk, &m.Value
	switch m.Key {
	case "name":
		if sk.Name = p.text(m); !sk.Command && p.err == nil && !validName(sk.Name, false) {
			p.fail(v.At, "", "invalid name %.80q: want 1 to %d of a-z, 0-9 and single hyphens inside", sk.Name, maxName)
		}
	case "description":
		sk.Description = p.line(m, maxDescription)
	case "when_to_use", "when-to-use":
		sk.WhenToUse = p.line(m, maxDescription)
	case "argument-hint":
		sk.Hint = p.hint(m)
	case "allowed-tools":
		sk.Allow = p.tools(m)
		sk.Line, _ = yamltree.Position(p.b, m.At)
	case "aliases":
		for _, a := range p.words(m) {
			if !validName(a, true) {
				p.fail(v.At, "", "invalid alias %.80q", a)
			}
			sk.Aliases = append(sk.Aliases, a)
		}
	case "disable-model-invocation":
		if p.flag(m) {
			sk.ModelInvocable = false
		}
	case "user-invocable":
		sk.UserInvocable = p.flag(m)
	case "model":
		if name := p.text(m); name != "inherit" {
			sk.Model = name
		}
	default:
		p.unknown(m)
	}
}

func (p *parser) unknown(m *jsontree.Member) {
	if why, ok := refusedKeys[m.Key]; ok {
		p.fail(m.At, "remove the line", "%s: %s", m.Key, why)
		return
	}
	if why, ok := ignoredKeys[m.Key]; ok {
		p.sk.Notes = append(p.sk.Notes, m.Key+" has no effect: "+why)
		return
	}
	if slices.Contains(silentKeys, m.Key) {
		return
	}
	known := append([]string{
		"name", "description", "when_to_use", "argument-hint", "allowed-tools", "aliases", "disable-model-invocation", "user-invocable", "model",
	}, silentKeys...)
	if near := spelling.Nearest(m.Key, known); near != "" {
		p.fail(m.At, "did you mean "+near+"?", "unknown key %.80q", m.Key)
		return
	}
	p.sk.Notes = append(p.sk.Notes, fmt.Sprintf("%.80q has no effect: unknown key", m.Key))
}

func (p *parser) text(m *jsontree.Member) string {
	if m.Value.Kind != jsontree.Text {
		p.fail(m.Value.At, "put the value in quotes", "%s must be a string, not %s", m.Key, m.Value.Show())
		return ""
	}
	s := strings.TrimSpace(m.Value.Text)
	if s == "" {
		p.fail(m.Value.At, "", "%s is empty", m.Key)
	}
	if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
		p.fail(m.Value.At, "", "%s contains an invisible character", m.Key)
	}
	return s
}

// line returns a text as one line. It checks the maximum length in characters.
func (p *parser) line(m *jsontree.Member, most int) string {
	s := strings.Join(strings.Fields(p.text(m)), " ")
	if n := utf8.RuneCountInString(s); n > most {
		p.fail(m.Value.At, "", "%s has %d characters; at most %d are allowed", m.Key, n, most)
	}
	return s
}

// hint also accepts text in brackets, which YAML parses as a list.
func (p *parser) hint(m *jsontree.Member) string {
	if m.Value.Kind != jsontree.List {
		return p.line(m, 200)
	}
	var words []string
	for i := range m.Value.Items {
		words = append(words, m.Value.Items[i].Text)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (p *parser) flag(m *jsontree.Member) bool {
	if m.Value.Kind != jsontree.Bool {
		p.fail(m.Value.At, "", "%s must be true or false, not %s", m.Key, m.Value.Show())
	}
	return m.Value.Text == "true"
}

// words returns the items of a list. A text is split at commas and spaces that are not in
// parentheses.
func (p *parser) words(m *jsontree.Member) []string {
	var list []string
	switch m.Value.Kind {
	case jsontree.Text:
		list = patterns.SplitRules(m.Value.Text)
	case jsontree.List:
		for i := range m.Value.Items {
			if item := &m.Value.Items[i]; item.Kind != jsontree.Text {
				p.fail(item.At, "put the value in quotes", "%s contains %s", m.Key, item.Show())
			} else {
				list = append(list, strings.TrimSpace(item.Text))
			}
		}
	default:
		p.fail(m.Value.At, "", "%s must be a list, not %s", m.Key, m.Value.Show())
	}
	return list
}

// tools parses the rules for calls that need no approval. An invalid rule allows nothing, and is
// reported in Notes.
func (p *parser) tools(m *jsontree.Member) (list []string) {
	for _, rule := range p.words(m) {
		if err := (&policy.Limit{Allow: []string{rule}}).CheckRules(""); err != nil {
			p.sk.Notes = append(p.sk.Notes, fmt.Sprintf("allowed-tools: %s allows nothing: %s", rule, strings.TrimPrefix(err.Error(), policy.ErrInvalid.Error()+": ")))
			continue
		}
		list = append(list, rule)
	}
	return list
}

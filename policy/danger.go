package policy

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// dangerEntry is one entry of the list of commands that mode auto denies (danger.json). All
// conditions that are set must hold. Alternatives of one condition are separate list entries or are
// separated by "|"; "*" matches any text and "?" any character.
type dangerEntry struct {
	ID  string `json:"id"`
	Why string `json:"why"` // the reason, such as "it runs with another user's rights"

	Programs     []string `json:"programs,omitempty"` // names of the command; empty means any command
	Words        []string `json:"words,omitempty"`    // the first words of the command that are not flags, in order
	AnyWord      []string `json:"anyword,omitempty"`  // a word of the command that is not a flag, at any position
	Unless       []string `json:"unless,omitempty"`   // the entry does not apply if one of the first two words is in this list
	Flags        []string `json:"flags,omitempty"`    // flags without their dashes; the command must have all of them
	WithoutFlags []string `json:"without,omitempty"`  // flags without their dashes; the command must have none of them
	Args         []string `json:"args,omitempty"`     // one of its arguments
	Tail         []string `json:"tail,omitempty"`     // one of its arguments after the first
	Fold         bool     `json:"fold,omitempty"`     // if true, Args are compared in lower case and with each run of spaces replaced by one space
	Paths        []string `json:"paths,omitempty"`    // class of a path to which the command writes: critical, above, outside, protected, device, unknown
	Into         []string `json:"into,omitempty"`     // the same line contains a program that reads code from its input
	Line         string   `json:"line,omitempty"`     // a pattern in the whole line: "fork bomb"

	Match []string `json:"match"` // example lines that match
	Near  []string `json:"near"`  // similar lines that must not match
}

//go:embed danger.json
var dangerJSON []byte

// dangers is the list, indexed by program.
type dangers struct {
	list    []dangerEntry
	exact   map[string][]*dangerEntry // entries by the program's name
	pattern []*dangerEntry            // entries with a pattern among their programs
	any     []*dangerEntry            // entries for every program
	line    []*dangerEntry            // entries that are compared with the text of the line
	valued  map[string][]string       // global flags that take a value, by program
}

// loadDangers reads the list once. The list is embedded, so a test checks that it is valid.
var loadDangers = sync.OnceValue(func() *dangers {
	d, err := readDangers(dangerJSON)
	if err != nil {
		panic("policy: danger.json: " + err.Error())
	}
	return d
})

// allDangers lists the commands that mode auto denies, in the order of danger.json.
func allDangers() []dangerEntry { return slices.Clone(loadDangers().list) }

func readDangers(b []byte) (*dangers, error) {
	var file struct {
		Valued  map[string][]string `json:"valued"`
		Entries []dangerEntry       `json:"entries"`
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	d := &dangers{list: file.Entries, exact: map[string][]*dangerEntry{}, valued: file.Valued}
	for i := range d.list {
		e := &d.list[i]
		switch {
		case e.Line != "":
			d.line = append(d.line, e)
			continue
		case len(e.Programs) == 0:
			d.any = append(d.any, e)
			continue
		}
		wild := false
		for _, p := range e.Programs {
			if isPattern(p) {
				wild = true
			} else {
				d.exact[p] = append(d.exact[p], e)
			}
		}
		if wild {
			d.pattern = append(d.pattern, e)
		}
	}
	return d, nil
}

// find returns the first entry that matches the line or one of its commands, or nil.
func (d *dangers) find(w *environment, s *requestView) *dangerEntry {
	for _, e := range d.line {
		if hasShape(s.Resource, e.Line) {
			return e
		}
	}
	for i := range s.reading.Commands {
		c := &s.reading.Commands[i]
		for _, list := range [...][]*dangerEntry{d.exact[c.Name], d.any, d.pattern} {
			for _, e := range list {
				if e.meets(d, w, s, i) {
					return e
				}
			}
		}
	}
	return nil
}

// meets reports whether the command with this index meets all conditions except Line.
func (e *dangerEntry) meets(d *dangers, w *environment, s *requestView, command int) bool {
	c := &s.reading.Commands[command]
	if len(e.Programs) > 0 && !matchAny(e.Programs, c.Name) {
		return false
	}
	if len(e.Paths) > 0 && !e.meetsPaths(w, s, command) {
		return false
	}
	if len(e.Into) > 0 && !readsCode(s.reading, e.Into) {
		return false
	}
	for _, f := range e.Flags {
		if !hasFlag(c.Args, f) {
			return false
		}
	}
	for _, f := range e.WithoutFlags {
		if hasFlag(c.Args, f) {
			return false
		}
	}
	if len(e.Args) > 0 && !slices.ContainsFunc(c.Args, func(a shellparse.Arg) bool { return e.matchesArg(a.Text) }) {
		return false
	}
	if len(e.Tail) > 0 && (len(c.Args) < 2 || !slices.ContainsFunc(c.Args[1:], func(a shellparse.Arg) bool { return matchAny(e.Tail, a.Text) })) {
		return false
	}
	return e.meetsWords(d.valued[c.Name], c.Args)
}

func (e *dangerEntry) meetsPaths(w *environment, s *requestView, command int) bool {
	for i := range s.paths {
		if p := &s.paths[i]; p.command == command && w.isInClasses(p, e.Paths) {
			return true
		}
	}
	return false
}

func (e *dangerEntry) matchesArg(text string) bool {
	if e.Fold {
		text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	}
	return matchAny(e.Args, text)
}

// meetsWords checks the conditions about words that are not flags.
func (e *dangerEntry) meetsWords(valued []string, args []shellparse.Arg) bool {
	if len(e.Words)+len(e.AnyWord)+len(e.Unless) == 0 {
		return true
	}
	at, anyWord := 0, len(e.AnyWord) == 0
	for i := 0; i < len(args); i++ {
		text := args[i].Text
		if strings.HasPrefix(text, "-") && text != "-" {
			if slices.Contains(valued, text) {
				i++
			}
			continue
		}
		if at < 2 && matchAny(e.Unless, text) {
			return false
		}
		if at < len(e.Words) && !matchAlternatives(e.Words[at], text) {
			return false
		}
		anyWord = anyWord || matchAny(e.AnyWord, text)
		at++
	}
	return anyWord && at >= len(e.Words)
}

// hasFlag looks for one of the names of a flag. A letter is also found in a cluster ("-rf"). A word
// is also found with a value ("--force=yes") and in an abbreviated form, as GNU programs accept it.
func hasFlag(args []shellparse.Arg, names string) bool {
	for _, a := range args {
		if a.Text == "--" {
			return false
		}
		long, isLong := strings.CutPrefix(a.Text, "--")
		long, _, _ = strings.Cut(long, "=")
		short, isShort := strings.CutPrefix(a.Text, "-")
		for name := range strings.SplitSeq(names, "|") {
			switch {
			case isLong:
				if len(name) > 1 && (long == name || len(long) > 2 && strings.HasPrefix(name, long)) {
					return true
				}
			case isShort && len(name) == 1 && strings.Contains(short, name):
				return true
			}
		}
	}
	return false
}

// readsCode reports whether the line contains one of the programs, which are shells and
// interpreters, without a file of code or code as an argument. Such a program runs the code that it
// reads from its input.
func readsCode(r *shellparse.Reading, programs []string) bool {
	return slices.ContainsFunc(r.Commands, func(c shellparse.Command) bool {
		if !matchAny(programs, c.Name) {
			return false
		}
		for _, a := range c.Args {
			if a.Text == "-s" || a.Text == "-" {
				return true
			}
			if a.Text == "-c" || a.Text == "-e" || a.Text == "-m" || !strings.HasPrefix(a.Text, "-") {
				return false
			}
		}
		return true
	})
}

// hasShape looks for a pattern that several commands form together. The only such pattern is the
// fork bomb: a function that pipes itself into itself in the background.
func hasShape(line, shape string) bool {
	if shape != "fork bomb" || !strings.Contains(line, "{") {
		return false
	}
	line = strings.Join(strings.Fields(line), "")
	for {
		head, tail, ok := strings.Cut(line, "(){")
		if !ok {
			return false
		}
		name := head[strings.LastIndexAny(head, ";&|(){}'\"")+1:]
		body, _, _ := strings.Cut(tail, "}")
		if name != "" && strings.Contains(body, name+"|"+name+"&") {
			return true
		}
		line = tail
	}
}

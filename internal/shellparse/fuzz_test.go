package shellparse

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

// FuzzParse holds every line to what must always be true of a reading.
func FuzzParse(f *testing.F) {
	for _, c := range corpus.Area(f, "open-agent-sdk.json", "sandbox_bypass", "sandbox_benign", "sandbox_basename") {
		var in ran
		c.Part(f, c.Input(), &in)
		f.Add(in.Command)
	}
	for _, tt := range readings {
		f.Add(tt.line)
	}
	for _, line := range bombs() {
		if len(line) < 200 {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, line string) {
		o := &Options{Dir: "/w", Home: "/home/u", Vars: map[string]string{"V": "a b"}}
		r := Parse(line, o)
		if again := Parse(line, o); !reflect.DeepEqual(r, again) {
			t.Errorf("read twice:\n%s%s", dump(r), dump(again))
		}
		if slow := readFully(line, o); !reflect.DeepEqual(r, slow) {
			t.Errorf("%q: without the short way:\n%s%s", line, dump(r), dump(slow))
		}
		if len(r.Commands) > maxCommands+1 || strings.Contains(strings.Join(r.Unclear, "\n"), failedPrefix) {
			t.Errorf("%d commands, %q", len(r.Commands), r.Unclear)
		}
		for _, c := range r.Commands {
			checkCommand(t, r, c)
		}
		words := strings.Split(line, " ")
		if strings.IndexByte(line, 0) < 0 && !slices.Contains([]string{"declare", "export", "local", "readonly", "typeset", "nameref", "let"}, words[0]) {
			checkCanonical(t, words)
		}
	})
}

func readFully(line string, o *Options) *Reading {
	b := newStart(line, o)
	b.parseLine()
	return b.reader.out
}

func checkCommand(t *testing.T, r *Reading, c Command) {
	t.Helper()
	switch {
	case c.Line == "":
		t.Errorf("a command without a line: %+v", c)
	case c.Name == "" && r.Static():
		t.Errorf("a command without a name in a static reading: %+v", c)
	case c.Name != "" && c.Name != base(c.Program):
		t.Errorf("name %q of program %q", c.Name, c.Program)
	case c.Dir != "" && c.Dir[0] != '/':
		t.Errorf("dir %q", c.Dir)
	case c.Safe && anyWritten(c.Paths):
		t.Errorf("safe and writes: %+v", c)
	}
	for _, p := range c.Paths {
		if p.Path != "" && (p.Path[0] != '/' || p.Path != cleanPath(p.Path)) || p.Access == 0 || p.Source == "" {
			t.Errorf("path %+v", p)
		}
	}
}

// checkCanonical reads the canonical line of words back.
func checkCanonical(t *testing.T, words []string) {
	t.Helper()
	line := Canonical(words...)
	file, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if len(file.Stmts) != 1 {
		t.Fatalf("%q is %d statements", line, len(file.Stmts))
	}
	call, ok := file.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok {
		t.Fatalf("%q is a %T", line, file.Stmts[0].Cmd)
	}
	b := newStart(line, &Options{})
	got := []string{}
	for _, w := range b.frame.words(&b.scope, call.Args) {
		if !w.static || w.glob {
			t.Errorf("%q: %q is not static", line, w.text)
		}
		got = append(got, w.text)
	}
	if !slices.Equal(got, words) {
		t.Errorf("%q reads back as %q, not %q", line, got, words)
	}
}

package command

import (
	"slices"
	"strings"
	"testing"
)

// declared is a command for tests.
type declared struct {
	name, target string
	words        []string
	env, list    []string
	verbatim     bool
}

func (d *declared) Declare(b *Builder) {
	b.Verbatim = d.verbatim
	b.Arg(&d.name, "name", "The name.")
	b.Optional(&d.target, "target", "The target.")
	b.Optional(&d.words, "word", "The words.")
	b.Flag(&d.env, "env", "e", "NAME", "A variable.")
	b.Words(&d.list, "list", "", "LIST", "A list.", "a", "b", "c")
}

func (d *declared) parse(t *testing.T, args ...string) error {
	t.Helper()
	b := &Builder{cmd: newCommand("test", "", nil)}
	b.set = b.cmd.Flags()
	d.Declare(b)
	if !d.verbatim {
		if err := b.set.Parse(args); err != nil {
			return FlagError(b.cmd, err)
		}
		args = b.set.Args()
	}
	return b.bind(args)
}

// Words after the last named argument of a verbatim command are not parsed as flags.
func TestVerbatim(t *testing.T) {
	for _, tt := range []struct {
		args         string
		verbatim     bool
		name, target string
		words, env   string
		err          string
	}{
		{"n t -e A w", false, "n", "t", "w", "A", ""},
		{"n -e A t -- -e B", false, "n", "t", "-e B", "A", ""},
		{"-e A n t -e B", false, "n", "t", "", "A B", ""},
		{"-e A n t -e B", true, "n", "t", "", "A B", ""},
		{"-e A n t -x -e B", true, "n", "t", "-x -e B", "A", ""},
		{"-eA n --env=B t -- -e C", true, "n", "t", "-e C", "A B", ""},
		{"n -e A t w -e B", true, "n", "t", "w -e B", "A", ""},
		{"n -- -e t", true, "n", "-e", "t", "", ""},
		{"n -x", true, "", "", "", "", "unknown flag -x"},
		{"n --evn A", false, "", "", "", "", `unknown flag --evn, did you mean "--env"?`},
		{"", true, "", "", "", "", `expected "<name>"`},
		{"n -e", false, "", "", "", "", "--env needs a value"},
		{"n --list a,d", false, "", "", "", "", `--list must be one of "a", "b", "c" but got "d"`},
	} {
		d := declared{verbatim: tt.verbatim}
		err := d.parse(t, strings.Fields(tt.args)...)
		if err != nil || tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v, want %q", tt.args, err, tt.err)
			}
			continue
		}
		if d.name != tt.name || d.target != tt.target || strings.Join(d.words, " ") != tt.words || strings.Join(d.env, " ") != tt.env {
			t.Errorf("%q: %+v", tt.args, d)
		}
	}
}

func TestListOfWords(t *testing.T) {
	var d declared
	if err := d.parse(t, "n", "--list", "a,b", "--list=c"); err != nil || !slices.Equal(d.list, []string{"a", "b", "c"}) {
		t.Errorf("%q, %v", d.list, err)
	}
}

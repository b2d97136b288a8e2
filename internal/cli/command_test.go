package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// visitCommands calls visit for every command.
func visitCommands(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range subcommands(cmd) {
		visitCommands(c, visit)
	}
}

// Every flag has a type that can be set, and every argument is in the usage line.
func TestFlagTypes(t *testing.T) {
	var p Program
	p.fill()
	visitCommands(p.root(nil), func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			v, ok := f.Value.(*value)
			if !ok {
				return
			}
			text := "1"
			switch v.to.(type) {
			case *time.Duration, **time.Duration:
				text = "1s"
			}
			if len(v.choices) > 0 {
				text = v.choices[0]
			}
			if err := v.Set(text); err != nil {
				t.Errorf("%s --%s: %v", cmd.CommandPath(), f.Name, err)
			}
		})
		if n := strings.Count(cmd.Use, "<"); n != len(arguments(cmd)) {
			t.Errorf("%s has %d arguments, the help has %d", cmd.Use, n, len(arguments(cmd)))
		}
	})
}

// A start builds only the command that was named.
func TestOnlyTheNamedCommandIsBuilt(t *testing.T) {
	var p Program
	p.fill()
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"run", "x"}, 1}, {[]string{"sessions", "list"}, 1}, {[]string{"--help"}, 19}, {[]string{"nonsense"}, 19}, {nil, 19},
	} {
		if n := len(subcommands(p.root(tt.args))); n != tt.want {
			t.Errorf("%q builds %d commands, want %d", tt.args, n, tt.want)
		}
	}
}

// declared is a command for tests.
type declared struct {
	name, target string
	words        []string
	env, list    []string
	verbatim     bool
}

func (d *declared) declare(b *builder) {
	b.verbatim = d.verbatim
	b.arg(&d.name, "name", "The name.")
	b.optional(&d.target, "target", "The target.")
	b.optional(&d.words, "word", "The words.")
	b.flag(&d.env, "env", "e", "NAME", "A variable.")
	b.words(&d.list, "list", "", "LIST", "A list.", "a", "b", "c")
}

func (d *declared) parse(t *testing.T, args ...string) error {
	t.Helper()
	b := &builder{cmd: newCommand("test", "", nil)}
	b.set = b.cmd.Flags()
	d.declare(b)
	if !d.verbatim {
		if err := b.set.Parse(args); err != nil {
			return flagError(b.cmd, err)
		}
		args = b.set.Args()
	}
	return b.take(args)
}

// What follows the last named argument of a verbatim command is not read as flags.
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

func TestFilled(t *testing.T) {
	got := strings.Join(filled("one two\nthree four\n\n  holdfast run\nfive", 9), "|")
	if want := "one two|three|four||  holdfast run|five"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

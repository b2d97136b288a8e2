package shellparse

import (
	"strings"
	"testing"
)

// effectsOfWords gives words to a program; a word that starts with "$" is not known.
func effectsOfWords(in stdin, argv ...string) effects {
	inv := &invocation{name: argv[0], program: word{text: argv[0], static: true}, in: in}
	for _, a := range argv[1:] {
		inv.args = append(inv.args, word{text: a, static: !strings.HasPrefix(a, "$")})
	}
	return effectsOf(inv)
}

func TestOutput(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		want string // "?": not known
	}{
		{[]string{"echo"}, "\n"},
		{[]string{"echo", "a", "b"}, "a b\n"},
		{[]string{"echo", "-n", "a"}, "a"},
		{[]string{"echo", "-ne", `a\tb`}, "a\tb"},
		{[]string{"echo", "-e", `\x72m`}, "rm\n"},
		{[]string{"echo", "-e", `\0162m`}, "rm\n"},
		{[]string{"echo", "-e", `a\c`}, "?"},
		{[]string{"echo", `a\n`}, "?"},
		{[]string{"echo", "-x", "a"}, "-x a\n"},
		{[]string{"echo", "--", "a"}, "-- a\n"},
		{[]string{"echo", "$x"}, "?"},
		{[]string{"printf", "a"}, "a"},
		{[]string{"printf", `a\n`}, "a\n"},
		{[]string{"printf", `%s\n`, "a", "b"}, "a\nb\n"},
		{[]string{"printf", "%s-%s", "a", "b"}, "a-b"},
		{[]string{"printf", "%%s"}, "%s"},
		{[]string{"printf", "%s"}, ""},
		{[]string{"printf", "%q", "a"}, "?"},
		{[]string{"printf", "%5s", "a"}, "?"},
		{[]string{"printf", "%b", `\x72`}, "?"},
		{[]string{"printf", `\162m`}, "rm"},
		{[]string{"printf", "$x"}, "?"},
		{[]string{"printf", "%s", "$x"}, "?"},
		{[]string{"printf", "-v", "x", "a"}, "?"},
		{[]string{"printf", "--", "a"}, "a"},
		{[]string{"cat"}, "?"},
		{[]string{"ls"}, "?"},
	} {
		got := "?"
		if e := effectsOfWords(stdin{}, tt.argv...); e.output != nil {
			got = *e.output
		}
		if got != tt.want {
			t.Errorf("%q prints %q, want %q", tt.argv, got, tt.want)
		}
	}
	in := stdin{kind: stdinKnown, text: "rm x\n"}
	for _, argv := range [][]string{{"cat"}, {"cat", "-"}, {"tee", "f"}} {
		if e := effectsOfWords(in, argv...); e.output == nil || *e.output != in.text {
			t.Errorf("%q does not hand its input on", argv)
		}
	}
	for _, argv := range [][]string{{"cat", "f"}, {"cat", "-n"}, {"tr", "a", "b"}} {
		if e := effectsOfWords(in, argv...); e.output != nil {
			t.Errorf("%q prints %q", argv, *e.output)
		}
	}
}

func TestChdir(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{"cd"}, ""},
		{[]string{"cd", "a"}, "a"},
		{[]string{"cd", "-P", "a"}, "a"},
		{[]string{"cd", "--", "-a"}, "-a"},
		{[]string{"cd", "-"}, "-"},
		{[]string{"cd", "a", "b"}, "-"},
		{[]string{"pushd", "a"}, "a"},
		{[]string{"pushd"}, "-"},
		{[]string{"pushd", "+1"}, "-"},
		{[]string{"popd"}, "-"},
	} {
		e := effectsOfWords(stdin{}, tt.argv...)
		if e.chdir == nil || e.chdir.text != tt.want {
			t.Errorf("%q goes to %+v, want %q", tt.argv, e.chdir, tt.want)
		}
	}
	if e := effectsOfWords(stdin{}, "pushd", "-n", "a"); e.chdir != nil {
		t.Errorf("pushd -n goes to %q", e.chdir.text)
	}
}

func TestSets(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		name string
	}{
		{[]string{"read", "-r", "x"}, "x"},
		{[]string{"read", "-a", "x"}, "x"},
		{[]string{"unset", "x"}, "x"},
		{[]string{"printf", "-v", "x", "a"}, "x"},
		{[]string{"mapfile", "-t", "x"}, "x"},
		{[]string{"export", "x=a"}, "x"},
	} {
		if _, ok := effectsOfWords(stdin{}, tt.argv...).sets[tt.name]; !ok {
			t.Errorf("%q does not set %s", tt.argv, tt.name)
		}
	}
}

// argvs writes what is run as lines.
func argvs(e effects) string {
	var out []string
	for _, r := range e.runs {
		if r.argv == nil {
			out = append(out, r.line)
			continue
		}
		var words []string
		for _, w := range r.argv {
			if w.static {
				words = append(words, w.text)
			} else {
				words = append(words, "?")
			}
		}
		out = append(out, strings.Join(words, " "))
	}
	if e.unclear != "" {
		out = append(out, "unclear")
	}
	return strings.Join(out, "; ")
}

func TestInputRuns(t *testing.T) {
	known := func(text string) stdin { return stdin{kind: stdinKnown, text: text} }
	for _, tt := range []struct {
		in   stdin
		argv string
		want string
	}{
		{stdin{}, "xargs", "echo ?"},
		{stdin{}, "xargs rm", "rm ?"},
		{known("a b\nc"), "xargs rm", "rm a b c"},
		{known("a b c"), "xargs -n2 mv", "mv a b; mv c"},
		{known("a b\nc\n"), "xargs -I{} mv {} x{}", "mv a b xa b; mv c xc"},
		{known("a"), "xargs -i cp {} d", "cp a d"},
		{known("a b"), "xargs -L1 rm", "rm a; rm b"},
		{known("a 'b c'"), "xargs rm", "rm ?"},
		{known("a\x00b c\x00"), "xargs -0 rm", "rm a b c"},
		{known("a"), "xargs -d, rm", "rm ?"},
		{known("a"), "xargs -a f rm", "rm ?"},
		{known(""), "xargs rm", "rm"},
		{known(strings.Repeat("a ", 100)), "xargs rm", "rm ?"},
		{stdin{kind: stdinUnknown}, "xargs -I{} rm {}", "rm ?"},
		{stdin{}, "xargs --frob rm", "rm ?; unclear"},
		{stdin{kind: stdinUnknown, words: []word{{text: "a", static: true}}}, "xargs rm", "rm a"},
		{stdin{}, "parallel rm ::: a b", "rm 'a'; rm 'b'"},
		{stdin{}, "parallel mv {} x ::: a", "mv 'a' x"},
		{stdin{}, "parallel rm :::: f", `rm "$input"`},
		{known("a\nb"), "parallel", "a\nb"},
		{stdin{}, "parallel", "unclear"},
		{known("a b"), "sh", "a b"},
		{known(" \n"), "sh", ""},
		{stdin{kind: stdinUnknown}, "sh", "unclear"},
		{stdin{}, "sh", ""},
		{known("* * * * * a b%c\n# x\nA=b\n@daily d\n*/5 * * * * e"), "crontab -", "a b; d; e"},
		{known("PATH=/x\n* * * * * a"), "crontab", "a; unclear"},
		{stdin{}, "crontab -l", ""},
		{known("a"), "at now", "a"},
		{stdin{}, "at -l", ""},
		{known("!a\n"), "ed f", "a"},
		{known("a\n!b\n.\nw\n"), "ed f", ""},
		{known(".shell a\nselect 1;\n"), "sqlite3 f", "a"},
		{known(".sh a"), "sqlite3 f", "a"},
		{known("select '.shell a'"), "sqlite3 f", ""},
		{known(`\! a`), "psql", "a"},
		{known(`select 1 \g |a`), "psql", "a"},
		{known(`\o |a b`), "psql", "a b"},
		{known("copy t from program 'a b'"), "psql", "a b"},
		{known("system a"), "mysql", "a"},
		{known("select 'system a'"), "mysql", ""},
		{known("shell a\n"), "gdb", "a"},
		{known("print os.system"), "lua", ""},
	} {
		if got := argvs(effectsOfWords(tt.in, strings.Fields(tt.argv)...)); got != tt.want {
			t.Errorf("%s < %q\n\truns %q, want %q", tt.argv, tt.in.text, got, tt.want)
		}
	}
}

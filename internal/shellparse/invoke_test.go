package shellparse

import (
	"slices"
	"strings"
	"testing"
)

func TestWrappers(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`x`, ``},
		{`(x)`, ``},
		{`f() { x; }; f`, ``},
		{`a $(x)`, `$()`},
		{"a `x`", `$()`},
		{`a <(x)`, `<()`},
		{`a > >(x)`, `>()`},
		{`a $(b $(x))`, `$() $()`},
		{`eval x`, `eval`},
		{`sh -c x`, `sh -c`},
		{`sh -c 'eval "x"'`, `sh -c, eval`},
		{`env x`, `env`},
		{`env sh -c x`, `env, sh -c`},
		{`trap x EXIT`, `trap`},
		{`PAGER=x a`, `PAGER`},
	} {
		r := Parse(tt.line, nil)
		i := slices.IndexFunc(r.Commands, func(c Command) bool { return c.Name == "x" })
		if i < 0 {
			t.Errorf("%s: no x in\n%s", tt.line, dump(r))
			continue
		}
		if got := strings.ReplaceAll(strings.Join(r.Commands[i].Wrappers, ", "), "$(), $()", "$() $()"); got != tt.want {
			t.Errorf("%s: via %q, want %q", tt.line, got, tt.want)
		}
	}
}

// A line is safe when all that it runs is, nothing is written, and nothing that
// changes what programs do is set.
func TestSafe(t *testing.T) {
	for _, line := range []string{
		``, `X=1`, `echo a > x`, `echo a; $x`, `echo $(x)`, `PATH=. echo a`, `PATH=.; echo a`, `export PATH=.; echo a`, `LD_PRELOAD=x echo a`,
		`IFS=x; echo a`, `BASH_ENV=x echo a`, `GIT_DIR=x echo a`, `declare PATH=x`, `echo "`, `(PATH=.; echo a)`, `sh -c 'echo a > x'`,
		`echo a | tee x`, `true && LD_LIBRARY_PATH=. true`, `eval 'PATH=x'; true`, `for PATH in a; do true; done`, `printf -v PATH a; true`, `read PATH; true`,
	} {
		if r := Parse(line, &Options{Dir: "/w"}); r.Safe() {
			t.Errorf("%q is safe:\n%s", line, dump(r))
		}
	}
	for _, line := range []string{
		`echo a`, `echo a; echo b`, `echo a 2>&1`, `echo a >/dev/null`, `X=1 echo a`, `X=1; echo $X`, `echo $x`, `if true; then echo a; fi`, `cd a && echo b`,
		`for i in a b; do echo $i; done`, `echo "$(echo a)"`, `[ -f x ] && echo a`, `(echo a)`, `(PATH=.); echo a`, `export X=1`,
	} {
		if r := Parse(line, &Options{Dir: "/w"}); !r.Safe() {
			t.Errorf("%q is not safe:\n%s", line, dump(r))
		}
	}
}

func TestAssigns(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`x`, ``},
		{`A=1; x`, ``},
		{`A=1 x`, `A`},
		{`A=1 B=2 x`, `A B`},
		{`PATH=1; x`, `PATH`},
		{`A=1 PATH=2 x`, `A PATH`},
		{`PATH=1; A=1 x`, `A PATH`},
		{`(PATH=1); x`, ``},
		{`PATH=1 a; x`, ``},
		{`if a; then PATH=1; fi; x`, `PATH`},
		{`PATH=1; (x)`, `PATH`},
		{`export LD_PRELOAD=a; sh -c x`, `LD_PRELOAD`},
		{`LD_PRELOAD=a sh -c x`, `LD_PRELOAD`},
		{`A=1 env x`, `A`},
	} {
		r := Parse(tt.line, nil)
		i := slices.IndexFunc(r.Commands, func(c Command) bool { return c.Name == "x" })
		if i < 0 {
			t.Errorf("%s: no x", tt.line)
		} else if got := strings.Join(r.Commands[i].Assigns, " "); got != tt.want {
			t.Errorf("%s: assigns %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestFields(t *testing.T) {
	r := Parse(`A=1 '/usr/bin/x'  -v  "a b" >o  $u *.go 'it'`, &Options{Dir: "/w"})
	if len(r.Commands) != 1 || !r.Static() {
		t.Fatalf("%+v", r)
	}
	c := r.Commands[0]
	if c.Name != "x" || c.Program != "/usr/bin/x" || c.Dir != "/w" {
		t.Errorf("%+v", c)
	}
	if want := `/usr/bin/x -v 'a b' $u *.go it`; c.Line != want {
		t.Errorf("line %q, want %q", c.Line, want)
	}
	if want := `'/usr/bin/x' -v "a b" $u *.go 'it'`; c.Source != want {
		t.Errorf("source %q, want %q", c.Source, want)
	}
	want := []Arg{{"-v", true}, {"a b", true}, {"$u", false}, {"*.go", false}, {"it", true}}
	if !slices.Equal(c.Args, want) {
		t.Errorf("args %v", c.Args)
	}
	if !slices.ContainsFunc(c.Paths, func(p Path) bool { return p.Path == "/usr/bin/x" && p.Access == Exec }) {
		t.Errorf("the program is no path: %v", c.Paths)
	}
}

func TestSource(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`  x  a   b  `, `x  a   b`},
		{`A=1 x a`, `x a`},
		{`x a > b`, `x a`},
		{`> b x a`, `x a`},
		{`x >b a`, `x a`},
		{`x 'a b';`, `x 'a b'`},
		{"x $(y\n z)", "x $(y\n z)"},
		{`(x a)`, `x a`},
		{`sh -c "x 'a'"`, `x 'a'`},
		{`env x 'a'`, `x a`},
	} {
		r := Parse(tt.line, nil)
		i := slices.IndexFunc(r.Commands, func(c Command) bool { return c.Name == "x" })
		if i < 0 || r.Commands[i].Source != tt.want {
			t.Errorf("%q: %+v, want source %q", tt.line, r.Commands, tt.want)
		}
	}
}

// Where the tables say so, a program's own paths and runs are relative to another
// folder than the shell's.
func TestMoveTo(t *testing.T) {
	w := func(s string) *word { return &word{text: s, static: true} }
	for _, tt := range []struct {
		dirs []string
		to   *word
		want []string
	}{
		{nil, w("a"), nil},
		{[]string{"/w"}, &word{text: "$x"}, nil},
		{[]string{"/w"}, &word{text: "a*", static: true, glob: true}, nil},
		{[]string{"/w"}, nil, []string{"/w"}},
		{[]string{"/w"}, w(""), []string{"/w"}},
		{nil, w("/a/.."), []string{"/"}},
		{[]string{"/w", "/v"}, w("a"), []string{"/w/a", "/v/a"}},
	} {
		if got := movedDirs(tt.dirs, tt.to); !slices.Equal(got, tt.want) {
			t.Errorf("%q to %v: %q, want %q", tt.dirs, tt.to, got, tt.want)
		}
	}
}

func TestLooksLikeCommand(t *testing.T) {
	for line, want := range map[string]bool{
		"": false, " ": false, "Hello, world": false, "100%": false, "é": false, "{name}: {value}": false, "#x": false,
		"rm x": true, "/bin/rm": true, " rm": true, "a;b": true, "$x y": true, "'rm' x": true,
	} {
		if got := looksLikeCommand(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}

package shellparse

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzEffects gives programs any words: effectsOf never panics, says the same twice, and
// calls nothing safe that runs, writes or is unclear.
func FuzzEffects(f *testing.F) {
	for _, file := range []string{"runs.txt", "unclear.txt", "benign.txt"} {
		for _, line := range linesOf(f, file) {
			f.Add(line, "rm x\n", uint8(1))
		}
	}
	f.Add("sed s/a/b/", "", uint8(2))
	f.Fuzz(func(t *testing.T, line, input string, kind uint8) {
		argv := strings.Fields(line)
		if len(argv) == 0 || len(argv) > 64 {
			return
		}
		inv := &invocation{name: argv[0][strings.LastIndexByte(argv[0], '/')+1:], program: word{text: argv[0], static: true}}
		for _, a := range argv[1:] {
			inv.args = append(inv.args, word{text: strings.Trim(a, "'"), static: !strings.Contains(a, "$"), glob: strings.ContainsAny(a, "*?")})
		}
		if inv.in.kind = stdinKind(kind % 3); inv.in.kind == stdinKnown {
			inv.in.text = input
		}
		e := effectsOf(inv)
		if again := effectsOf(inv); !reflect.DeepEqual(e, again) {
			t.Errorf("%q is studied as %+v, then as %+v", argv, e, again)
		}
		p := lookup(inv.name)
		if e.safe && (e.changesFiles() || e.unclear != "" || len(e.runs) > 0 && (p == nil || !p.marks.wrapper) && !e.wrapper) {
			t.Errorf("%q is safe: %+v", argv, e)
		}
		if e.wrapper && len(e.runs) == 0 {
			t.Errorf("%q wraps nothing: %+v", argv, e)
		}
		for _, r := range e.runs {
			if r.via == "" || len(r.argv) == 0 && r.line == "" {
				t.Errorf("%q runs %+v", argv, r)
			}
		}
	})
}

// FuzzCode gives every language any code.
func FuzzCode(f *testing.F) {
	for _, code := range []string{`system("rm x")`, "`rm x`", `'''a''' + "b`, `s/a/b/w x`, `1e rm`, `BEGIN{print | "rm"}`, `.shell rm`, `\! rm`, `:r !rm`, `exec rm [x`, `qx{`, `%x(`, `/[/]/`, `"\`, `y/`} {
		f.Add(code)
	}
	names := []string{"python", "perl", "ruby", "node", "php", "lua", "R", "julia", "emacs", "groovy", "elixir", "osascript", "ghc", "gnuplot"}
	f.Fuzz(func(_ *testing.T, code string) {
		w := word{text: code, static: true}
		for _, name := range names {
			c := call{inv: &invocation{name: name}, prog: lookup(name)}
			c.code(w, c.language())
		}
		for _, name := range []string{"sed", "awk", "vim", "sqlite3", "psql", "mysql", "tclsh", "ed", "crontab"} {
			c := call{inv: &invocation{name: name}, prog: lookup(name)}
			c.sedCode(w)
			c.awkCode(w)
			c.exCode(w, 0)
			c.sqlCode(w)
			c.tclCode(w)
			c.edCode(code)
			c.cronLine(code)
		}
	})
}

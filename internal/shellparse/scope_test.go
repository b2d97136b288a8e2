package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// lastPaths are the absolute paths of the last command named r.
func lastPaths(r *Reading, name string) []string {
	var out []string
	for _, c := range r.Commands {
		if c.Name != name {
			continue
		}
		out = nil
		for _, p := range c.Paths {
			out = append(out, p.Path)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Where a relative path of the last cat would lie; "" is unknown.
func TestFolders(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		// Not known.
		{`cd $x && cat y`, ``},
		{`cd - && cat y`, ``},
		{`cd */ && cat y`, ``},
		{`cd a b; cat y`, ``},
		{`cd ~u && cat y`, ``},
		{`popd; cat y`, ``},
		{`CDPATH=/x; cd a && cat y`, ``},
		{`while t; do cd a; done; cat y`, ``},
		{`while cd a; do cat y; break; done`, ``},
		{`cd /a && cd /b && cat $OLDPWD/y`, ``},
		{`until cd x; do t; done; cat y`, ``},
		{`cd a; cd b; cd c; cd d; cat y`, ``},
		{`cd "$(cmd)" && cat y`, ``},
		{`for d in $(cmd); do cd $d; done; cat y`, ``},

		// It may have failed.
		{`cd a; cat y`, `/w/a/y /w/y`},
		{`cd a || t; cat y`, `/w/a/y /w/y`},
		{`cd a && t; cat y`, `/w/a/y /w/y`},
		{`t && cd a; cat y`, `/w/a/y /w/y`},
		{`t || cd a; cat y`, `/w/a/y /w/y`},
		{`if t; then cd a; fi; cat y`, `/w/a/y /w/y`},
		{`if t; then cd /a; else cd /b; fi; cat y`, `/a/y /b/y /w/y`},
		{`case x in x) cd /a;; y) cd /b; esac; cat y`, `/a/y /b/y /w/y`},
		{`cd a || return; cat y`, `/w/a/y /w/y`},
		{`cd a || break; cat y`, `/w/a/y /w/y`},
		{`f() { cd a || return; }; f; cat y`, `/w/a/y /w/y`},
		{`{ cd a; t; }; cat y`, `/w/a/y /w/y`},
		{`alias exit=t; cd a || exit; cat y`, `/w/a/y /w/y`},
		{`exit() { t; }; cd a || exit; cat y`, `/w/a/y /w/y`},

		// It has not failed, or it has.
		{`cat y`, `/w/y`},
		{`cd a && cat y`, `/w/a/y`},
		{`cd a && cd b && cat y`, `/w/a/b/y`},
		{`cd a && cd .. && cat y`, `/w/y`},
		{`cd a || cat y`, `/w/y`},
		{`! cd a || cat y`, `/w/a/y`},
		{`! cd a && cat y`, `/w/y`},
		{`cd a || exit 1; cat y`, `/w/a/y`},
		{`cd a || { echo no; exit 1; }; cat y`, `/w/a/y`},
		{`if ! cd a; then exit; fi; cat y`, `/w/a/y`},
		{`if cd a; then cat y; fi`, `/w/a/y`},
		{`if cd a; then t; else cat y; fi`, `/w/y`},
		{`{ cd a; } && cat y`, `/w/a/y`},
		{`eval 'cd a' && cat y`, `/w/a/y`},
		{`command cd a && cat y`, `/w/a/y`},
		{`builtin cd a && cat y`, `/w/a/y`},
		{`f() { cd a; }; f && cat y`, `/w/a/y`},
		{`f() { cd a || return 1; cat y; }; f`, `/w/a/y`},
		{`pushd /a && cat y`, `/a/y`},
		{`cd && cat y`, `/home/u/y`},
		{`cd ~/s && cat y`, `/home/u/s/y`},
		{`D=a; cd $D && cat y`, `/w/a/y`},
		{`cd a && cat $PWD/y`, `/w/a/y`},
		{`for d in a b; do (cd $d && cat y); done`, `/w/b/y`},
		{`cd -- a && cat y`, `/w/a/y`},

		// It is another process, or another program.
		{`(cd a); cat y`, `/w/y`},
		{`cd a | t; cat y`, `/w/y`},
		{`cd a & cat y`, `/w/y`},
		{`t $(cd a); cat y`, `/w/y`},
		{`sh -c 'cd a'; cat y`, `/w/y`},
		{`sh -c 'cd a && cat y'`, `/w/a/y`},
		{`env cd a; cat y`, `/w/y`},
		{`/bin/cd a && cat y`, `/w/y`},
		{`trap 'cd a' EXIT; cat y`, `/w/y`},
		{`f() { cd a; }; cat y`, `/w/y`},
		{`(exit); cat y`, `/w/y`},
	} {
		r := Parse(tt.line, &Options{Dir: "/w", Home: "/home/u"})
		if got := strings.Join(lastPaths(r, "cat"), " "); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q in\n%s", tt.line, got, tt.want, dump(r))
		}
	}
}

func TestFolderUnknown(t *testing.T) {
	r := Parse("cat y ~/z /a/../b", nil)
	if got := lastPaths(r, "cat"); !slices.Equal(got, []string{"", "/b"}) {
		t.Errorf("without a folder: %q", got)
	}
}

// A command says where it runs if all goes well.
func TestDir(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{`cd a && t`, `/w/a`}, {`cd a; t`, `/w/a`}, {`cd a || t`, `/w`}, {`cd $x; t`, ``}, {`t`, `/w`}, {`(cd a); t`, `/w`},
	} {
		r := Parse(tt.line, &Options{Dir: "/w"})
		if c := r.Commands[len(r.Commands)-1]; c.Dir != tt.want {
			t.Errorf("%s runs in %q, want %q", tt.line, c.Dir, tt.want)
		}
	}
}

// What one branch knows, the other may not.
func TestJoin(t *testing.T) {
	clock := 0
	s := &scope{clock: &clock, dirs: []string{"/w"}, fail: []string{"/w"}}
	s.set("SAME", value{text: "x", known: true})
	a, b := s.fork(), s.fork()
	a.set("ONE", value{text: "x", known: true})
	a.set("BOTH", value{text: "x", known: true})
	b.set("BOTH", value{text: "x", known: true})
	b.set("EXPORTED", value{text: "x", known: true, exported: true})
	b.define("f", function{})
	b.alias("l", "ls")
	b.set("PATH", value{text: "/x", known: true})
	s.join(a, b)
	for name, known := range map[string]bool{"SAME": true, "BOTH": true, "ONE": false, "EXPORTED": false} {
		if s.vars[name].known != known {
			t.Errorf("%s is known: %v, want %v", name, !known, known)
		}
	}
	switch {
	case !s.vars["EXPORTED"].exported:
		t.Error("what may be exported is not")
	case !s.funcs["f"].maybe:
		t.Error("a function of one branch is certain")
	case s.aliases["l"] != "ls":
		t.Error("an alias of one branch is lost")
	case !slices.Equal(s.tainted, []string{"PATH"}):
		t.Errorf("tainted: %q", s.tainted)
	}
	if _, ok := a.funcs["f"]; ok {
		t.Error("a branch knows what the other did")
	}
}

func TestEitherDir(t *testing.T) {
	many := strings.Fields("/a /b /c /d /e /f /g /h")
	for _, tt := range []struct{ a, b, want []string }{
		{nil, []string{"/a"}, nil},
		{[]string{"/a"}, nil, nil},
		{many, []string{"/i"}, nil},
		{[]string{}, []string{"/a"}, []string{"/a"}},
		{[]string{"/a"}, []string{}, []string{"/a"}},
		{[]string{"/a"}, []string{"/b", "/a"}, []string{"/a", "/b"}},
		{many, []string{"/a"}, many},
	} {
		if got := eitherDir(tt.a, tt.b); !slices.Equal(got, tt.want) || (got == nil) != (tt.want == nil) {
			t.Errorf("%q or %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// show writes a command's paths as "write /w/x", with "tree" behind a tree.
func show(paths []Path) []string {
	var out []string
	for _, p := range paths {
		var access []string
		for bit, name := range map[Access]string{Read: "read", Write: "write", Exec: "exec"} {
			if p.Access&bit != 0 {
				access = append(access, name)
			}
		}
		slices.Sort(access)
		text := strings.Join(access, "+") + " " + p.Path
		if p.Tree {
			text += " tree"
		}
		out = append(out, text)
	}
	return out
}

// Redirects of any command; echo has no other paths.
func TestRedirects(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		// Not a file, or not known.
		{`echo a >/dev/null 2>&1`, ``},
		{`echo a >&2 2>&- 1>&3- <&0`, ``},
		{`echo a >/dev/stderr >/dev/fd/2 >/dev/tty`, ``},
		{`echo a 2> >(cat) < <(cat)`, ``},
		{`echo a <<< b`, ``},
		{"echo a <<E\nb\nE", ``},
		{`echo a > $x`, `write `},
		{`echo a > "$x/b"`, `write `},
		{`echo a > ~u/b`, `write `},
		{`echo a >& $x`, `write `},

		{`echo a > x`, `write /w/x`},
		{`echo a >> x`, `write /w/x`},
		{`echo a >| x`, `write /w/x`},
		{`echo a &> x`, `write /w/x`},
		{`echo a &>> x`, `write /w/x`},
		{`echo a >& x`, `write /w/x`},
		{`echo a 2> x`, `write /w/x`},
		{`echo a {fd}> x`, `write /w/x`},
		{`echo a < x`, `read /w/x`},
		{`echo a 3< x`, `read /w/x`},
		{`echo a <> x`, `read+write /w/x`},
		{`echo a > ../x`, `write /x`},
		{`echo a > /a/../x`, `write /x`},
		{`echo a > ~/x`, `write /home/u/x`},
		{`echo a > 'a b'`, `write /w/a b`},
		{`echo a > x*`, `write /w/ tree`},
		{`echo a > x > y`, `write /w/x, write /w/y`},
		{`>x echo a`, `write /w/x`},
		{`X=x; echo a > $X`, `write /w/x`},
		{`cd b && echo a > x`, `write /w/b/x`},
		{`for f in x y; do echo a > $f; done`, `write /w/y`},
		{`{ echo a; } > x`, `write /w/x`},
		{`(echo a) > x`, `write /w/x`},
		{`if echo a; then :; fi > x`, `write /w/x`},
		{`while echo a; do :; done < x`, `read /w/x`},
		{`f() { echo a; }; f > x`, `write /w/x`},
		{`f() { echo a; } > x; f`, `write /w/x`},
		{`echo a > /dev/sda`, `write /dev/sda`},
	} {
		r := Parse(tt.line, &Options{Dir: "/w", Home: "/home/u"})
		got := ""
		for _, c := range r.Commands {
			if c.Name == "echo" {
				got = strings.ReplaceAll(strings.Join(show(c.Paths), ", "), "/w tree", "/w/ tree")
				if c.Safe && strings.Contains(got, "write") {
					t.Errorf("%s: safe, and it writes", tt.line)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// Redirects without a command are those of the null command.
func TestRedirectsAlone(t *testing.T) {
	for _, line := range []string{`> x`, `X=1 > x`, `((1)) > x`, `[[ a ]] > x`, `$E > x`, `f() { X=1; }; f > x`} {
		r := Parse(line, &Options{Dir: "/w", Vars: map[string]string{"E": ""}})
		if len(r.Commands) != 1 || r.Commands[0].Name != ":" || r.Safe() || !slices.Equal(show(r.Commands[0].Paths), []string{"write /w/x"}) {
			t.Errorf("%s: %+v", line, r.Commands)
		}
	}
	if r := Parse("< x", &Options{Dir: "/w"}); !r.Safe() || len(r.Commands) != 1 {
		t.Errorf("reading a file is not safe: %+v", r)
	}
}

func TestGlobRoot(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{`*/../x`, unknownRoot},
		{`a/*/..`, unknownRoot},
		{`..*`, unknownRoot},
		{`.?`, unknownRoot},
		{`.*`, unknownRoot},
		{`a/.[.]`, unknownRoot},
		{`*/.?/x`, unknownRoot},
		{`*.go`, ``},
		{`a/*.go`, `a/`},
		{`/a/b*/c`, `/a/`},
		{`../a?`, `../`},
		{`a\*b/[x]`, `a*b/`},
		{`/*`, `/`},
		{`.x*`, ``},
		{`a/.git*`, `a/`},
	} {
		if got := globRoot(tt.pattern); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.pattern, got, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	f := &newStart("", &Options{}).frame
	for _, tt := range []struct {
		dirs []string
		w    word
		want []string
	}{
		{nil, word{text: "x", static: true}, []string{"read "}},
		{[]string{"/w"}, word{text: "$x"}, []string{"read "}},
		{[]string{"/w"}, word{text: "*/..", static: true, glob: true}, []string{"read  tree"}},
		{[]string{"/w"}, word{text: "<(a)"}, nil},
		{[]string{"/w"}, word{text: "/dev/null", static: true}, nil},
		{[]string{"/w"}, word{text: "/dev/fd/", static: true}, []string{"read /dev/fd"}},
		{[]string{"/w"}, word{text: "/dev/fd/../../x", static: true}, []string{"read /x"}},
		{[]string{"/w"}, word{text: "x", static: true}, []string{"read /w/x"}},
		{[]string{"/"}, word{text: "x", static: true}, []string{"read /x"}},
		{[]string{"/w"}, word{text: "./x//y/", static: true}, []string{"read /w/x/y"}},
		{[]string{"/w"}, word{text: "..", static: true}, []string{"read /"}},
		{[]string{"/w"}, word{text: "...", static: true}, []string{"read /w/..."}},
		{[]string{"/w"}, word{text: ".x", static: true}, []string{"read /w/.x"}},
		{[]string{"/w"}, word{text: ".//x", static: true}, []string{"read /w/x"}},
		{[]string{"/w"}, word{text: "./", static: true}, []string{"read /w"}},
		{[]string{"/w"}, word{text: ".", static: true}, []string{"read /w"}},
		{[]string{"/w"}, word{text: "././../x", static: true}, []string{"read /x"}},
		{[]string{"/w"}, word{text: "./a/...", static: true}, []string{"read /w/a/..."}},
		{[]string{"/a", "/b"}, word{text: "x", static: true}, []string{"read /a/x", "read /b/x"}},
		{[]string{"/a", "/b"}, word{text: "/x", static: true}, []string{"read /x"}},
		{[]string{"/w"}, word{text: "a/*.go", static: true, glob: true}, []string{"read /w/a tree"}},
	} {
		got := show(f.resolve(nil, tt.dirs, use{path: tt.w, access: Read, from: FromArgument}))
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q in %q: %q, want %q", tt.w.text, tt.dirs, got, tt.want)
		}
	}
}

// A path with ".." is also kept as it was, for those who follow links.
func TestRawPath(t *testing.T) {
	r := Parse("echo a > l/../x > y > ... > l/..", &Options{Dir: "/w"})
	if p := r.Commands[0].Paths; p[0].Raw != "/w/l/../x" || p[1].Raw != "" || p[2].Raw != "" || p[3].Raw != "/w/l/.." {
		t.Errorf("%+v", p)
	}
}

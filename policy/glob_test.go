package policy

import (
	"strings"
	"testing"
)

func TestPathGlobRefuses(t *testing.T) {
	for _, c := range []struct{ text, cwd, home, want string }{
		{"", "/w", "", "must not be empty"},
		{"!a", "/w", "", "must not start"},
		{"a[", "/w", "", "not a usable pattern"},
		{"a{b", "/w", "", "not a usable pattern"},
		{`a\`, "/w", "", "not a usable pattern"},
		{"a*/../b", "/w", "", "after a wildcard"},
		{"a*/./b", "/w", "", "after a wildcard"},
		{"a*//b", "/w", "", "after a wildcard"},
		{"a\x00", "/w", "", "NUL"},
		{strings.Repeat("{,a}", 9), "/w", "", "more than 256 alternatives"},
		{strings.Repeat("{a,", 12) + strings.Repeat("}", 12), "/w", "", "more than 256 alternatives"},
		{"a", "", "", "not known"},
		{"a", "relative", "", "not known"},
		{"~/a", "/w", "", "not known"},
	} {
		for _, forbids := range []bool{false, true} {
			if g, err := pathGlob(c.text, c.cwd, c.home, forbids); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q: %+v %v, want an error with %q", c.text, g, err, c.want)
			}
		}
	}
}

func TestPathGlob(t *testing.T) {
	for _, c := range []struct {
		text    string
		forbids bool
		yes, no string // paths, separated by spaces
	}{
		{"a", false, "/w/a /w/a/b", "/w /w/ab /a /w/b/a /w/A"},
		{"./a", false, "/w/a", "/w/./a /w/b/a"},
		{"a/", false, "/w/a /w/a/b/c", "/w/ab"},
		{"a/*", false, "/w/a/b", "/w/a /w/a/b/c"},
		{"a/*", true, "/w/a/b /w/a/b/c", "/w/a"},
		{"a/**", false, "/w/a /w/a/b /w/a/b/c", "/w/ab /w"},
		{"**/a", false, "/w/a /w/x/a /w/x/y/a", "/a /x/a /w/xa"},
		{"**/a", true, "/a /x/a /w/a/below", "/w/xa"},
		{"**/*.pem", true, "/k.pem /w/a/k.pem /w/x.pem/y", "/w/pem /w/k.pem2"},
		{"/etc/**", false, "/etc /etc/a/b", "/w/etc/a /etc2"},
		{"/", true, "/ /a /a/b", ""},
		{"~/a*", false, "/home/u/a /home/u/ab", "/home/u/ab/c /home/u/b/a /w/~/a"},
		{"~", true, "/home/u /home/u/x", "/home /home/user"},
		{"../x/*.go", false, "/x/a.go", "/w/x/a.go"},
		{"x/../y", false, "/w/y", "/w/x/../y"},
		{`a\*b`, false, "/w/a*b", "/w/axb"},
		{`a\[1]/*`, false, "/w/a[1]/x", "/w/a1/x"},
		{"a[1]/*", false, "/w/a1/x", "/w/a[1]/x"},
		{"{a,b}/x", false, "/w/a/x /w/b/x", "/w/c/x /w/{a,b}/x"},
		{"é?", false, "/w/éa /w/éé", "/w/é"},
	} {
		g, err := pathGlob(c.text, "/w", "/home/u", c.forbids)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		for p := range strings.FieldsSeq(c.yes) {
			if !g.match(p) {
				t.Errorf("%q (forbids %t) does not match %s: %+v", c.text, c.forbids, p, g)
			}
		}
		for p := range strings.FieldsSeq(c.no) {
			if g.match(p) {
				t.Errorf("%q (forbids %t) matches %s: %+v", c.text, c.forbids, p, g)
			}
		}
	}
}

// A folder name with special characters is not a pattern.
func TestGlobBelowAFolderWithSpecialLetters(t *testing.T) {
	g, err := pathGlob("*.go", "/w/[a]*", "", false)
	if err != nil {
		t.Fatal(err)
	}
	if !g.match("/w/[a]*/x.go") || g.match("/w/a/x.go") || g.match("/w/abc/x.go") {
		t.Errorf("%+v", g)
	}
}

func TestReaches(t *testing.T) {
	for _, c := range []struct {
		glob, tree         string
		certainly, perhaps bool
	}{
		{"/w/secrets/**", "/w", true, true},
		{"/w/secrets/**", "/", true, true},
		{"/w/secrets/**", "/w/secrets/a", false, true},
		{"/w/secrets/**", "/w/src", false, false},
		{"/w/.env", "/w", true, true},
		{"**/.env", "/w/src", false, true},
		{"/w/*.go", "/w", true, true},
		{"/w/a*/x", "/w/bb", false, false},
		{"/w/a*/x", "/w/ab", false, true},
		{"/w/a*/x", "/v", false, false},
		{"/w/a/b", "", false, true},
		{"/w/a", "/w/a/b", false, true},
	} {
		g, err := pathGlob(c.glob, "/w", "", true)
		if err != nil {
			t.Fatal(err)
		}
		if certainly, perhaps := g.reaches(c.tree); certainly != c.certainly || perhaps != c.perhaps {
			t.Errorf("%s reaches %q: %t %t", c.glob, c.tree, certainly, perhaps)
		}
	}
}

func TestDisjoint(t *testing.T) {
	for _, c := range []struct {
		glob, arg string
		want      bool
	}{
		{"**/.env*", "*.go", true},
		{"**/.env", "src/*.ts", true},
		{"**/*.pem", "*.go", true},
		{"**/*.pem", "*.pem", false},
		{"**/*.pem", "*", false},
		{"**/*.pem", "x*", false},
		{"**/*.pem", ".", false},
		{"**/*.pem", "*/*.go", false},
		{"**/.env*", ".e*.x", false},
		{"**/secrets/**", "*.go", true},
		{"**/secrets/**", "*ts", false},
		{"**/a/*", "*.go", false},
		{"/w/a.go", "*.go", false},
		{"/w/id_rsa", "*.go", true},
		{"/w/.git/**", "*.go", true},
		{"/w/.git/**", "*", false}, // the shell may be told that a star is a dot, too
		{"/w/x/y", "z*", true},
		{"/w/x/y", "*", false},
		{"**/y", "*", false},
	} {
		g, err := pathGlob(c.glob, "/w", "", true)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.disjoint("/w", c.arg); got != c.want {
			t.Errorf("%s and %s: %t", c.glob, c.arg, got)
		}
	}
}

func TestUnder(t *testing.T) {
	for _, c := range []struct {
		dir, path, rest string
		ok              bool
	}{
		{"/", "/", "", true},
		{"/", "/a", "a", true},
		{"/", "", "", false},
		{"/a", "/a", "", true},
		{"/a", "/a/b/c", "b/c", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/a", "", "", false},
	} {
		if rest, ok := under(c.dir, c.path); rest != c.rest || ok != c.ok {
			t.Errorf("under(%q, %q) = %q %t", c.dir, c.path, rest, ok)
		}
	}
}

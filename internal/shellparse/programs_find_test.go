package shellparse

import "testing"

// What find finds lies below its roots, and nowhere that the line does not say.
func TestFound(t *testing.T) {
	for _, tt := range []struct {
		line, command string
		paths         []string // of the command, "?" for one that is not known
	}{
		{"find . -exec cat /etc/{} \\;", "cat", []string{"?"}},
		{"find . -exec cat {}/../x \\;", "cat", []string{"?"}},
		{"find . -type f | xargs cat", "cat", []string{"?"}},           // a name may hold a space
		{"find . -print -print0 | xargs -0 cat", "cat", []string{"?"}}, // and a newline
		{"find . -exec printf '/etc\\0' \\; -print0 | xargs -0 cat", "cat", []string{"?"}},
		{"find . -print0 | sort -z | xargs -0 cat", "cat", []string{"?"}},
		{"find . -files0-from f -print0 | xargs -0 cat", "cat", []string{"?"}},
		{"find $X -exec cat {} +", "cat", []string{"?"}},
		{"find . -exec cat {} +", "cat", []string{"/w"}},
		{"find src /etc -exec cat {} +", "cat", []string{"/w/src", "/etc"}},
		{"find a -print0 | xargs -0 cat", "cat", []string{"/w/a"}},
		{"find a -print0 | xargs -0 -I% cat % b", "cat", []string{"/w/a", "/w/b"}},
		{"find a -print0 | (cd /x && xargs -0 cat)", "cat", []string{"/x/a"}},
	} {
		r := Parse(tt.line, &Options{Dir: "/w", Home: "/home/u"})
		var got []string
		for _, c := range r.Commands {
			if c.Name != tt.command {
				continue
			}
			for _, p := range c.Paths {
				if p.Path == "" {
					got = append(got, "?")
					continue
				}
				if p.Path != "/w/b" && !p.Tree {
					t.Errorf("%s: %s is no tree", tt.line, p.Path)
				}
				got = append(got, p.Path)
			}
		}
		if len(got) != len(tt.paths) {
			t.Errorf("%s\n\ttouches %q, want %q", tt.line, got, tt.paths)
			continue
		}
		for i := range got {
			if got[i] != tt.paths[i] {
				t.Errorf("%s\n\ttouches %q, want %q", tt.line, got, tt.paths)
			}
		}
	}
}

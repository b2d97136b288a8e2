package shellparse

import "testing"

// No everyday line is unclear, and none seems to run what it only speaks of.
func TestBenign(t *testing.T) {
	lines := linesOf(t, "benign.txt")
	if len(lines) < 220 {
		t.Fatalf("%d lines, want at least 220", len(lines))
	}
	for _, line := range lines {
		r := Parse(line, &Options{Dir: "/w", Home: "/home/u"})
		if !r.Static() {
			t.Errorf("%s\n\tis unclear: %q", line, r.Unclear)
		}
		for _, c := range r.Commands {
			if c.Name == "rm" || c.Name == "sudo" || c.Name == "curl" {
				t.Errorf("%s\n\truns %s via %q", line, c.Line, c.Wrappers)
			}
		}
	}
}

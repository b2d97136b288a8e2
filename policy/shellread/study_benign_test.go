package shellread

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// benign are the everyday lines of testdata/benign.txt.
func benign(t *testing.T) []string {
	t.Helper()
	f, err := os.Open("testdata/benign.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if line := s.Text(); line != "" && line[0] != '#' {
			if strings.Contains(line, "<<") {
				line = strings.ReplaceAll(line, `\n`, "\n")
			}
			out = append(out, line)
		}
	}
	return out
}

// No everyday line is unclear, and none seems to run what it only speaks of.
func TestBenign(t *testing.T) {
	lines := benign(t)
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
				t.Errorf("%s\n\truns %s via %q", line, c.Line, c.Via)
			}
		}
	}
}

package shellparse

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// linesOf reads a file of lines in testdata; comments are left out.
func linesOf(t testing.TB, file string) []string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			if strings.Contains(line, "<<") || strings.Contains(line, "{e") {
				line = strings.ReplaceAll(line, `\n`, "\n")
			}
			out = append(out, line)
		}
	}
	return out
}

// Every line of testdata/runs.txt runs rm, and the reading finds it by name.
func TestRuns(t *testing.T) {
	for _, line := range linesOf(t, "runs.txt") {
		r := Parse(line, &Options{Dir: "/w", Home: "/home/u"})
		if r.Safe() {
			t.Errorf("%s\n\tis safe", line)
		}
		if !slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Name == "rm" }) {
			t.Errorf("%s\n\tdoes not run rm; unclear: %q", line, r.Unclear)
		}
	}
}

// Every line of testdata/unclear.txt is unclear.
func TestUnclear(t *testing.T) {
	for _, line := range linesOf(t, "unclear.txt") {
		if r := Parse(line, &Options{Dir: "/w", Home: "/home/u"}); r.Static() {
			t.Errorf("%s\n\tis clear", line)
			for _, c := range r.Commands {
				t.Logf("\t%s via %q, opaque: %s", c.Line, c.Wrappers, c.Opaque)
			}
		}
	}
}

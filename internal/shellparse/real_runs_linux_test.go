package shellparse

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// shortRuns is how many lines are read for one that is run, too, with -short.
const shortRuns = 8

// TestRealRunsAreRead runs lines that have a program run, each in its own way, and
// checks that the program ran and that the reading names it.
func TestRealRunsAreRead(t *testing.T) {
	w := newWorld(t)
	for _, file := range []string{"real_runs.txt", "real_runs_programs.txt"} {
		ran := 0
		for i, line := range realLines(t, file) {
			how, line := how(line)
			checkRuns(t, w, line, how)
			if name := missing(line); name != "" {
				t.Logf("no %s here: %s", name, line)
				continue
			}
			if testing.Short() && i%shortRuns != 0 {
				continue
			}
			if _, canary := w.run(t, line); !canary {
				t.Errorf("%s\n\tdoes not run canary", line)
			}
			ran++
		}
		t.Logf("%s: ran %d lines", file, ran)
	}
}

// how cuts off what a line says about how canary is run.
func how(line string) (how, rest string) {
	for _, h := range []string{"opaque", "variable"} {
		if rest, ok := strings.CutPrefix(line, h+": "); ok {
			return h, rest
		}
	}
	return "", line
}

func checkRuns(t *testing.T, w *world, line, how string) {
	t.Helper()
	r := w.read(line)
	named := slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Name == "canary" || strings.HasPrefix(c.Program, w.root) })
	opaque := slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Opaque != "" })
	variable := slices.ContainsFunc(r.Commands, func(c Command) bool { return slices.ContainsFunc(c.Assigns, environ.Dangerous) })
	switch {
	case r.Safe():
		t.Errorf("%s\n\tis read as safe", line)
	case named, !r.Static(), how == "opaque" && opaque, how == "variable" && variable:
	default:
		t.Errorf("%s\n\tis read without canary:\n%s", line, dump(r))
	}
}

// realLines reads lines of testdata in which \n stands for a line break where a
// here-document, a comment or a block of sed needs one.
func realLines(t testing.TB, file string) []string {
	t.Helper()
	var out []string
	for _, line := range linesOf(t, file) {
		out = append(out, strings.ReplaceAll(line, `\n`, "\n"))
	}
	return out
}

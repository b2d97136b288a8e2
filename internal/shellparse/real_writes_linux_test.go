package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// TestRealWritesAreRead runs lines that change files and checks that the reading
// says so of each file that changed.
func TestRealWritesAreRead(t *testing.T) {
	w := newWorld(t)
	w.reset(t)
	ran := 0
	for i, line := range realLines(t, "real_writes.txt") {
		how, line := how(line)
		r := w.read(line)
		if r.Safe() {
			t.Errorf("%s\n\tis read as safe", line)
		}
		if name := missing(line); name != "" {
			t.Logf("no %s here: %s", name, line)
			continue
		}
		if testing.Short() && i%shortRuns != 0 {
			continue
		}
		changed, _ := w.run(t, line)
		ran++
		if len(changed) == 0 {
			t.Errorf("%s\n\tchanges nothing", line)
		}
		if how == "opaque" && slices.ContainsFunc(r.Commands, func(c Command) bool { return c.Opaque != "" }) {
			continue
		}
		for _, p := range changed {
			if r.Static() && !w.writesTo(r, p) {
				t.Errorf("%s\n\tchanges %s, and is read as\n%s", line, strings.TrimPrefix(p, w.root+"/"), dumpPaths(r))
			}
		}
	}
	t.Logf("ran %d lines", ran)
}

// dumpPaths shows a reading with the paths of each command.
func dumpPaths(r *Reading) string {
	var b strings.Builder
	for _, c := range r.Commands {
		b.WriteString("\t\t" + c.Line)
		for _, p := range c.Paths {
			b.WriteString(" [" + "-rwWxXxX"[p.Access:p.Access+1] + " " + p.Path)
			if p.Tree {
				b.WriteString("/...")
			}
			b.WriteString("]")
		}
		if c.Opaque != "" {
			b.WriteString(" (" + c.Opaque + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

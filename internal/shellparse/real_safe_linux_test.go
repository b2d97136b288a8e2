package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// TestRealSafeLinesChangeNothing runs the lines of testdata that are read as safe and
// checks that they change no file and run no program that they do not name.
func TestRealSafeLinesChangeNothing(t *testing.T) {
	w := newWorld(t)
	w.reset(t)
	ran := 0
	safe := realLines(t, "real_safe.txt")
	lines := slices.Concat(safe, realLines(t, "real_runs.txt"), realLines(t, "real_writes.txt"))
	for i, line := range lines {
		r := w.read(line)
		if i < len(safe) && !r.Safe() {
			t.Errorf("%s\n\tis not read as safe: %q\n%s", line, r.Unclear, dumpPaths(r))
		}
		if !r.Safe() || missing(line) != "" || testing.Short() && i%shortRuns != 0 {
			continue
		}
		ran++
		changed, canary := w.run(t, line)
		for _, p := range changed {
			t.Errorf("%s\n\tis read as safe, and changes %s", line, strings.TrimPrefix(p, w.root+"/"))
		}
		if canary {
			t.Errorf("%s\n\tis read as safe, and runs canary", line)
		}
	}
	t.Logf("ran %d lines", ran)
}

// A repository may have settings and attributes that make git run programs. What is
// safe to read in any repository must not run them.
func TestRealSafeGitRunsNothingOfTheRepository(t *testing.T) {
	w := newWorld(t)
	w.reset(t)
	if name := missing("git status"); name != "" {
		t.Skip("no git here")
	}
	const settings = `cd repo && printf '* diff=x filter=x merge=x\n' > .gitattributes && git config alias.status '!canary' && git config alias.log '!canary' &&
git config diff.x.command canary && git config core.pager canary && git config core.editor canary && git config sequence.editor canary && printf changed > tracked`
	for _, line := range linesOf(t, "real_git_safe.txt") {
		if r := w.read("cd repo && " + line); !r.Safe() {
			t.Errorf("%s\n\tis not read as safe: %q\n%s", line, r.Unclear, dumpPaths(r))
		}
		if testing.Short() {
			continue
		}
		w.reset(t)
		w.bashRun(t, settings)
		w.before = w.look(t)
		changed, canary := w.run(t, "cd repo && "+line+" > /dev/null")
		w.made = false
		if len(changed) > 0 || canary {
			t.Errorf("%s\n\tin a repository with settings of its own changes %q, runs canary: %v", line, changed, canary)
		}
	}
}

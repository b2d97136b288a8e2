package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/policy"
)

// writeAttempts are the last files that a command has tried to write outside of what it may, as its system calls
// say: a program that was refused one may tell nobody, or name another error. Once it writes in the
// workspace again it has gone on without them.
type writeAttempts struct {
	allowed []pathTree // the trees that may be written

	mu    sync.Mutex
	paths []string
}

// maxTries is how many are kept: a program tries one place after the other.
const maxTries = 4

// temporary are trees in which a command has files of its own. What it writes there says nothing about how
// it goes on.
var temporary = []string{"/tmp", "/var/tmp", "/dev", "/proc"}

// tries are those of a command that starts now.
func (s *Sandbox) tries() *writeAttempts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &writeAttempts{allowed: s.plan.write}
}

func (t *writeAttempts) add(path string) {
	allowed := holding(t.allowed, path) != nil
	if !allowed && slices.ContainsFunc(temporary, func(tree string) bool { return within(path, tree) }) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if allowed {
		t.paths = t.paths[:0]
	} else if !slices.Contains(t.paths, path) {
		t.paths = append(t.paths[max(0, len(t.paths)-maxTries+1):], path)
	}
}

// refused are those that the sandbox has refused, and that could be opened. What the command could not have
// written anyway was not refused by us.
func (t *writeAttempts) refused(s *Sandbox) []Violation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Violation
	for _, path := range t.paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue // it is there already
		}
		if _, err := os.Stat(filepath.Dir(path)); err != nil || !mayWrite(path) {
			continue
		}
		if v := s.Explain(path, policy.OpWrite); v != nil && s.SettingFor(v) != nil {
			out = append(out, *v)
		}
	}
	return out
}

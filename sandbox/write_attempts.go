package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/policy"
)

// writeAttempts are the last files outside the writable trees that a command tried to write,
// according to its system calls: a program may not report a refused write, or may report a
// different error. If the command writes in the workspace again afterwards, it has continued
// without these files.
type writeAttempts struct {
	allowed []pathTree // the writable trees

	mu    sync.Mutex
	paths []string
}

// maxWriteAttempts is the number of attempts kept: a program tries several places in a row.
const maxWriteAttempts = 4

// temporary are trees in which a command has private files. Writes in these trees do not show
// whether the command has continued.
var temporary = []string{"/tmp", "/var/tmp", "/dev", "/proc"}

// newWriteAttempts returns the attempts of a command that starts now.
func (s *Sandbox) newWriteAttempts() *writeAttempts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &writeAttempts{allowed: s.plan.write}
}

func (t *writeAttempts) add(path string) {
	allowed := treeOf(t.allowed, path) != nil
	if !allowed && slices.ContainsFunc(temporary, func(tree string) bool { return within(path, tree) }) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if allowed {
		t.paths = t.paths[:0]
	} else if !slices.Contains(t.paths, path) {
		t.paths = append(t.paths[max(0, len(t.paths)-maxWriteAttempts+1):], path)
	}
}

// refused returns the attempts that the sandbox refused and that a setting could allow. It leaves
// out writes that would have failed without the sandbox.
func (t *writeAttempts) refused(s *Sandbox) []Violation {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Violation
	for _, path := range t.paths {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue // it already exists
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

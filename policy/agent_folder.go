package policy

import (
	"fmt"
	"path"
)

// OwnFolder gives the agent a private folder, absolute and without links, before its first decision.
// Files that the agent reads and writes in it pass the limit on protected files and the mode's
// approval requests. Every other check still applies, and secrets, commands and other agents get no
// exception.
func (s *Guards) OwnFolder(folder string) error {
	if !path.IsAbs(folder) || path.Clean(folder) != folder || path.Dir(folder) == folder {
		return fmt.Errorf("%w: the agent's private folder cannot be %q; hint: use an absolute path without links, other than the root", ErrInvalid, folder)
	}
	s.folder = folder
	return nil
}

// owns reports whether a request is about one file in the agent's private folder, both as named and
// with its links resolved.
func (s *Guards) owns(q *requestView) bool {
	if s.folder == "" || q.Operation != OpRead && q.Operation != OpWrite || len(q.places) != 1 {
		return false
	}
	p := &q.places[0]
	return p.path != "" && inside(s.folder, p.path) && inside(s.folder, p.real)
}

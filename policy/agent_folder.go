package policy

import (
	"fmt"
	"path"
)

// OwnFolder gives the agent a folder of its own, absolute and without links, before its first
// decision: files that it reads and writes in it pass the limit on protected files and the question of the
// mode, and nothing else; secrets, commands and other agents do not.
func (s *Guards) OwnFolder(folder string) error {
	if !path.IsAbs(folder) || path.Clean(folder) != folder || path.Dir(folder) == folder {
		return fmt.Errorf("%w: an agent cannot keep the folder %q", ErrInvalid, folder)
	}
	s.folder = folder
	return nil
}

// owns reports whether a request is about one file in the agent's own folder, both as it is
// named and without links.
func (s *Guards) owns(q *requestView) bool {
	if s.folder == "" || q.Operation != OpRead && q.Operation != OpWrite || len(q.places) != 1 {
		return false
	}
	p := &q.places[0]
	return p.path != "" && inside(s.folder, p.path) && inside(s.folder, p.real)
}

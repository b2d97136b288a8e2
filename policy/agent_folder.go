package policy

import (
	"fmt"
	"path"
)

// OwnFolder gives the agent a private folder. It is called before the first decision. The path must
// be absolute and without links, or the error wraps [ErrInvalid]. When the agent reads and writes
// files in the folder, the limit on protected files and the mode's approval requests do not apply.
// Every other check still applies, and there is no exception for secrets, commands and other
// agents.
func (s *Guards) OwnFolder(folder string) error {
	if !path.IsAbs(folder) || path.Clean(folder) != folder || path.Dir(folder) == folder {
		return fmt.Errorf("%w: the agent's private folder cannot be %q; hint: use an absolute path without links, other than the root", ErrInvalid, folder)
	}
	s.folder = folder
	return nil
}

// owns reports whether a request is about one file in the agent's private folder. Both the path as
// written and the path with resolved links must be in the folder.
func (s *Guards) owns(q *requestView) bool {
	if s.folder == "" || q.Operation != OpRead && q.Operation != OpWrite || len(q.paths) != 1 {
		return false
	}
	p := &q.paths[0]
	return p.path != "" && inside(s.folder, p.path) && inside(s.folder, p.real)
}

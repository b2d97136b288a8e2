package policy

import (
	"path"
	"strings"
)

// throughProc follows the links by which /proc shows a process's root and working
// folder, whose text does not say where they lead: /proc/self/root/etc is /etc. dir
// is where the process works. Every process is taken to have the same of both.
func throughProc(p, dir string) string {
	for range 8 { // each round takes a link away
		rest, ok := strings.CutPrefix(p, "/proc/")
		if !ok {
			return p
		}
		parts := strings.Split(rest, "/")
		if len(parts) > 3 && parts[1] == "task" {
			parts = parts[2:]
		}
		switch {
		case len(parts) < 2:
			return p
		case parts[1] == "root":
			p = path.Join("/", path.Join(parts[2:]...))
		case parts[1] == "cwd" && path.IsAbs(dir):
			p = path.Join(dir, path.Join(parts[2:]...))
		default:
			return p
		}
	}
	return p
}

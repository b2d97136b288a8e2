package policy

import (
	"path"
	"strings"
)

// throughProc follows the links of /proc to a process's root and working folder. The text of these
// links does not name their target: for example, /proc/self/root/etc is /etc. dir is the working
// folder of the process. Every process is assumed to have the same root and working folder.
func throughProc(p, dir string) string {
	for range 8 { // each round resolves one symbolic link
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
